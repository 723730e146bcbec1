//! How many operations a second the products of a Linear layer come to, at the sizes of a transformer's MLP. `cargo bench -p microbatch-kernels`.

use divan::{Bencher, counter::ItemsCount};
use microbatch_kernels::{
    Scratch,
    linear::{Slope, Then, Weight, backward_input, forward},
};

fn main() {
    divan::main();
}

/// Positions of a microbatch, and the width of a transformer whose MLP is four times as wide.
const SIZES: [(usize, usize); 4] = [(64, 32), (256, 64), (1024, 128), (512, 512)];

/// One Linear layer from width to 4 x width; its items are multiplications with an addition.
struct Layer {
    weight: Vec<f32>,
    x: Vec<f32>,
    y: Vec<f32>,
    width: usize,
}

impl Layer {
    fn new((positions, width): (usize, usize)) -> Self {
        // No zeros and nothing subnormal: these can be quicker or slower than other numbers.
        let some = |count: usize| (0..count).map(|i| 0.5 + (i % 7) as f32 / 8.0).collect();
        Self {
            weight: some(width * 4 * width),
            x: some(positions * width),
            y: some(positions * 4 * width),
            width,
        }
    }

    fn weight(&self) -> Weight<'_> {
        Weight {
            data: &self.weight,
            inputs: self.width,
            outputs: 4 * self.width,
            by_output: false,
        }
    }

    fn operations(&self) -> ItemsCount {
        ItemsCount::new(self.x.len() * 4 * self.width)
    }
}

#[divan::bench(args = SIZES)]
fn up(bencher: Bencher, size: (usize, usize)) {
    let layer = Layer::new(size);
    let (mut out, mut scratch) = (layer.y.clone(), Scratch::default());
    bencher
        .counter(layer.operations())
        .bench_local(|| forward(&layer.x, layer.weight(), None, Then::Keep, &mut out, &mut scratch));
}

#[divan::bench(args = SIZES)]
fn gradient_of_input(bencher: Bencher, size: (usize, usize)) {
    let layer = Layer::new(size);
    let (mut out, mut scratch) = (layer.x.clone(), Scratch::default());
    bencher
        .counter(layer.operations())
        .bench_local(|| backward_input(&layer.y, layer.weight(), Slope::One, &mut out, &mut scratch));
}
