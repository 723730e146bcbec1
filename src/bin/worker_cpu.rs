//! The worker that trains on the CPU device.

mod wiring;

fn main() {
    wiring::start();
}
