//! Embeddings by token and by place.

use crate::{
    Scratch,
    four::{LANES, load, store},
    linear::{Share, sum_rows},
};

/// `out[p] = words[tokens[p]]`, plus `places[p % columns]`.
pub fn forward(tokens: &[i32], words: &[f32], places: Option<(&[f32], usize)>, width: usize, out: &mut [f32]) {
    for (position, (&token, out)) in tokens.iter().zip(out.chunks_exact_mut(width)).enumerate() {
        let word = row(words, token, width);
        match places {
            None => out.copy_from_slice(word),
            Some((places, columns)) => {
                let place = &places[position % columns * width..][..width];
                for at in (0..width).step_by(LANES) {
                    store(out, at, load(word, at) + load(place, at));
                }
            }
        }
    }
}

/// The gradient of an embedding by token.
pub fn backward_words(
    tokens: &[i32],
    d_x: &[f32],
    width: usize,
    share: Share,
    d_words: &mut [f32],
    scratch: &mut Scratch,
) {
    scratch.sums.clear();
    scratch.sums.resize(d_words.len(), 0.0);
    for (&token, d_x) in tokens.iter().zip(d_x.chunks_exact(width)) {
        let from = first(token, width);
        if let Some(sums) = scratch.sums.get_mut(from..from + width) {
            for at in (0..width).step_by(LANES) {
                let sum = load(sums, at) + load(d_x, at);
                store(sums, at, sum);
            }
        }
    }
    share.put(&scratch.sums, d_words);
}

/// The gradient of an embedding by place in a row of `columns` positions; places beyond have none.
pub fn backward_places(
    d_x: &[f32],
    columns: usize,
    width: usize,
    share: Share,
    d_places: &mut [f32],
    scratch: &mut Scratch,
) {
    let used = columns * width;
    sum_rows(d_x, used, &mut scratch.sums);
    scratch.sums.resize(d_places.len(), 0.0);
    share.put(&scratch.sums, d_places);
}

fn first(token: i32, width: usize) -> usize {
    usize::try_from(token).unwrap_or(usize::MAX / (2 * width)) * width
}

fn row(words: &[f32], token: i32, width: usize) -> &[f32] {
    words
        .get(first(token, width)..)
        .and_then(|from| from.get(..width))
        .unwrap_or(&words[..width])
}
