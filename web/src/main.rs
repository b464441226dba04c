//! Starts the page.

fn main() {
    sentinel_web::start();
}
