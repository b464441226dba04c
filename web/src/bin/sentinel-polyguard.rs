//! Starts the page on the PolyGuard world.

fn main() {
    sentinel_web::start::<sentinel_web::polyguard::Polyguard>();
}
