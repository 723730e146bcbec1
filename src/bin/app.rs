//! The page.

use leptos::prelude::*;
use microbatch_lab::ui::App;

fn main() {
    console_error_panic_hook::set_once();
    mount_to_body(App);
}
