//! The program of the page's shell.

fn main() {
    sentinel_page::browser::report_panics();
    sentinel_page::browser::clear_placeholder();
    sentinel_page::browser::mount(sentinel_page::app);
}
