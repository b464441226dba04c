//! Starts the page on the cluster world.

fn main() {
    sentinel_web::start::<sentinel_web::cluster::Cluster>();
}
