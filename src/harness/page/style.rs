//! The look of the page, light and dark.

/// The style sheet. Colours are picked to be told apart by most eyes, and shapes go with them.
pub(super) const CSS: &str = "
:root { color-scheme: light dark;
  --paper: #fff; --ink: #1b1f24; --soft: #59636e; --rule: #d8dee4; --grid: #e8ecf0; --band: #f5f7f9;
  --k0: #0067a8; --k1: #c44f00; --k2: #00805d; --k3: #a83a7c; --k4: #6a4bc0; --k5: #8a6100; --k6: #007480; --k7: #5c5c5c;
  --bar: #0067a8; --best: #8cc3e8; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14171b; --ink: #e6e9ed; --soft: #a2abb5; --rule: #3a424b; --grid: #272d34; --band: #1b2026;
  --k0: #5cb8f5; --k1: #ff9d57; --k2: #45d3a3; --k3: #f09ccb; --k4: #b7a2ff; --k5: #e3b75a; --k6: #5fd2dd; --k7: #bdbdbd;
  --bar: #3d9bdc; --best: #1f5379; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 86rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; }
h1 { font-size: 1.6rem; overflow-wrap: anywhere; } h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; overflow-wrap: anywhere; }
p { max-width: 50rem; margin: .25rem 0 .75rem; }
.scroll { overflow-x: auto; border: 1px solid var(--rule); border-radius: 6px; }
.scroll:focus-visible { outline: 2px solid var(--k0); }
table { border-collapse: collapse; width: 100%; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .5rem .6rem; color: var(--soft); }
th, td { text-align: left; padding: .2rem .6rem; border-top: 1px solid var(--rule); white-space: nowrap; }
th { font-weight: 600; } tbody th { font-weight: 400; } .right { text-align: right; }
.first, .report { border-left: 1px solid var(--rule); }
tbody tr:nth-child(even) { background: var(--band); }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(30rem, 100%), 1fr)); gap: 1.25rem; }
.figures.wide { grid-template-columns: minmax(0, 60rem); }
figure { margin: 0; border: 1px solid var(--rule); border-radius: 6px; padding: .6rem; align-self: start;
  overflow-x: auto; }
figure > svg { display: block; width: 100%; min-width: 27rem; height: auto; }
figcaption { font-size: .85rem; color: var(--soft); overflow-wrap: anywhere; } figcaption p { margin: .25rem 0; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: .25rem 0; padding: 0;
  font-size: .85rem; }
.legend svg { width: 14px; height: 14px; margin-right: .35rem; vertical-align: -2px; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.axes line { stroke: var(--grid); } .axes text { fill: var(--soft); } .axes .name { fill: var(--ink); }
.axes .bound { stroke: var(--soft); }
.roof line { stroke: var(--soft); } .roof .main { stroke: var(--ink); stroke-width: 2; }
.roof .more { stroke-dasharray: 5 4; }
.labels text { font-size: 11px; paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
.roof-names text { fill: var(--soft); }
.c0 { --c: var(--k0); } .c1 { --c: var(--k1); } .c2 { --c: var(--k2); } .c3 { --c: var(--k3); }
.c4 { --c: var(--k4); } .c5 { --c: var(--k5); } .c6 { --c: var(--k6); } .c7 { --c: var(--k7); }
.full { fill: var(--c); stroke: var(--paper); } .hollow { fill: none; stroke: var(--c); pointer-events: all; }
.lines line { stroke: var(--c); stroke-width: 2; }
.dash1 { stroke-dasharray: 8 4; } .dash2 { stroke-dasharray: 2 4; } .dash3 { stroke-dasharray: 10 3 2 3; }
.bar.default { fill: var(--bar); } .bar.best { fill: var(--best); } .bars .value { font-size: 10px; }
";
