//! The page.

fn main() {
    console_error_panic_hook::set_once();
    microbatch_lab::ui::mount();
}
