//! The program of the page's shell.

fn main() {
    sentinel_page::browser::report_panics();
    sentinel_page::browser::clear_placeholder();
    leptos::mount::mount_to_body(sentinel_page::App);
}
