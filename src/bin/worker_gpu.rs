//! The worker that trains on WebGPU.

mod wiring;

fn main() {
    wiring::start();
}
