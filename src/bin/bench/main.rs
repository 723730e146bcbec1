//! The page that measures. What other implementations train it trains too, one update at a time, in the product's own worker; what only
//! the product has, it measures against itself. See `docs/speed.md`.

mod own;
mod page;
mod training;
mod work;

fn main() {
    console_error_panic_hook::set_once();
    page::offer();
}
