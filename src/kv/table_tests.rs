//! The table against a plain model of what is where, over random histories.

use super::table::{Table, plain_pages};
use crate::kernels::attention::PAGE;
use std::collections::BTreeMap;

const WORDS: (u32, u32) = (640, 192);
const CAPACITY: u32 = 4096;

/// One list: header and entries.
fn list(words: &[u32], at: usize) -> (&[u32], Vec<&[u32]>) {
    (&words[4 * at..4 * at + 4], words[4 * at + 4..].chunks(4).collect())
}

fn random(state: &mut u64, n: u32) -> u32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) % u64::from(n)) as u32
}

/// What a pool holds: at a word offset, a page in a form.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Held {
    Plain(u32),
    Sealed(u32),
}

#[test]
fn every_position_is_read_once_from_where_it_was_written() {
    for seed in 0..200u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
        let chunk = [1, 7, 32, 64, 100, 256][random(&mut state, 6) as usize];
        let mut table = Table::new(Some(chunk));
        let places = plain_pages(chunk);
        let mut pool: BTreeMap<u32, Held> = BTreeMap::new();
        let mut len = 0;
        for _ in 0..60 {
            if random(&mut state, 6) == 0 {
                let (left, _) = table.cut(random(&mut state, len + 1));
                assert!(left <= len && len - left <= len, "a cut never adds");
                len = left;
            }
            let n = (1 + random(&mut state, chunk)).min(CAPACITY - len);
            if n == 0 {
                continue;
            }
            if let Some(first) = table.advance(len) {
                for job in table.job_words(first, WORDS).chunks(4) {
                    let Some(Held::Plain(page)) = pool.get(&job[0]).copied() else {
                        panic!("seed {seed}: sealing from {job:?}, which holds no plain page")
                    };
                    pool.insert(job[1], Held::Sealed(page));
                }
            }
            let words = table.list_words(WORDS, CAPACITY);
            let (plain_entries, sealed_entries) = table.entries(CAPACITY);
            assert_eq!(words.len() as u64 * 4, table.list_bytes(1, CAPACITY));
            let (head, plain) = list(&words, 0);
            // The new rows go where `tail_row` of lib/kv.wgsl says.
            for pos in len..len + n {
                let row = pos - head[1];
                let entry = (head[0] + row / PAGE) as usize;
                assert!(entry < plain_entries as usize, "seed {seed}: position {pos} is behind the list");
                assert_eq!(plain[entry][1] + row % PAGE, pos);
                pool.insert(plain[entry][0], Held::Plain(pos / PAGE));
            }
            len += n;
            // Every position is in one list once, and its place holds its page.
            let mut seen = vec![0; len as usize];
            let tail_end = head[0] * PAGE + len - head[1];
            for slot in 0..tail_end {
                let e = plain[(slot / PAGE) as usize];
                let pos = e[1] + slot % PAGE;
                seen[pos as usize] += 1;
                assert_eq!(pool.get(&e[0]), Some(&Held::Plain(pos / PAGE)), "seed {seed}: position {pos}");
                assert!(e[0] < places * WORDS.0);
            }
            let (head, sealed) = list(&words, 1 + plain_entries as usize);
            assert!(head[0] <= sealed_entries);
            for e in sealed.iter().take(head[0] as usize) {
                assert_eq!(
                    pool.get(&e[0]),
                    Some(&Held::Sealed(e[1] / PAGE)),
                    "seed {seed}: page at {}",
                    e[1]
                );
                assert!(e[0] >= places * WORDS.0);
                (e[1]..e[1] + e[2]).for_each(|pos| seen[pos as usize] += 1);
            }
            assert!(seen.iter().all(|n| *n == 1), "seed {seed}: {len} positions, {seen:?}");
        }
    }
}

#[test]
fn without_a_tier_a_page_is_in_its_place() {
    let mut table = Table::new(None);
    assert_eq!(table.advance(5000), None);
    assert_eq!(table.cut(77), (77, false));
    let words = table.list_words(WORDS, 128);
    assert_eq!(words[..12], [0, 0, 0, 0, 0, 0, 32, 0, WORDS.0, 32, 32, 0]);
}
