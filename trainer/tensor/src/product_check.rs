//! A matrix product on a device, compared with the processor and timed.

use std::time::Instant;

use burn::tensor::{Device, Tensor};

use crate::transfer::{DeviceReadError, matrix, numbers};

/// The size of the matrices that are compared.
const COMPARED: usize = 192;
/// The smallest and the largest size of the matrices that are timed.
const TIMED: [usize; 2] = [512, 4096];
/// The time that a product has to take to be worth timing, in seconds.
const LONG: f64 = 0.02;
/// The number of products that are timed; the fastest counts.
const REPEATS: usize = 5;

/// The accuracy and the speed of matrix products in f32 on a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProductCheck {
    /// Largest difference from a product in f64, divided by the largest number of that product.
    pub error: f64,
    /// Operations per second, counting a multiplication and an addition as two.
    pub flops: f64,
    /// Size of the square matrices that were timed.
    pub size: usize,
}

impl ProductCheck {
    /// Multiplies matrices on a device: small ones to compare them, and larger ones until a product takes
    /// long enough to be timed.
    ///
    /// # Errors
    /// Returns an error if the device cannot be read.
    pub fn run(device: &Device) -> Result<Self, DeviceReadError> {
        let error = compare(device)?;
        let mut size = TIMED[0];
        loop {
            let seconds = time(device, size)?;
            if seconds >= LONG || size >= TIMED[1] {
                let flops = 2.0 * (size as f64).powi(3) / seconds;
                return Ok(Self { error, flops, size });
            }
            size *= 2;
        }
    }

    /// Returns the format that the factors of the products have, judged by the error; `None` if the result
    /// is wrong.
    #[must_use]
    pub fn format(&self) -> Option<&'static str> {
        match self.error {
            error if error < 1e-5 => Some("f32"),
            // Ten bits after the leading one, in place of 23.
            error if error < 4e-3 => Some("TF32"),
            _ => None,
        }
    }
}

/// Returns the numbers of a square matrix, in [-1, 1], without a pattern of the size of a tile.
fn values(size: usize, step: usize) -> Vec<f32> {
    let value = |at: usize| (at * step % 2003) as f32 / 1001.0 - 1.0;
    (0..size * size).map(value).collect()
}

fn compare(device: &Device) -> Result<f64, DeviceReadError> {
    let (a, b) = (values(COMPARED, 997), values(COMPARED, 1613));
    let on_device = |values: &[f32]| matrix(values.to_vec(), [COMPARED; 2], device);
    let found = numbers(on_device(&a).matmul(on_device(&b)))?;
    let (mut difference, mut largest) = (0.0_f64, 0.0_f64);
    for (row, found) in a.chunks(COMPARED).zip(found.chunks(COMPARED)) {
        for (column, found) in found.iter().enumerate() {
            let below = b.iter().skip(column).step_by(COMPARED);
            let products = row
                .iter()
                .zip(below)
                .map(|(a, b)| f64::from(*a) * f64::from(*b));
            let exact: f64 = products.sum();
            difference = difference.max((f64::from(*found) - exact).abs());
            largest = largest.max(exact.abs());
        }
    }
    Ok(difference / largest)
}

/// Returns the seconds of a product of square matrices.
fn time(device: &Device, size: usize) -> Result<f64, DeviceReadError> {
    let a = matrix(values(size, 997), [size; 2], device);
    let b = matrix(values(size, 1613), [size; 2], device);
    // Reading one number waits for the whole product.
    let wait = |product: Tensor<2>| numbers(product.slice([0..1, 0..1]));
    wait(a.clone().matmul(b.clone()))?;
    let mut fastest = f64::INFINITY;
    for _ in 0..REPEATS {
        let start = Instant::now();
        wait(a.clone().matmul(b.clone()))?;
        fastest = fastest.min(start.elapsed().as_secs_f64());
        if fastest >= 10.0 * LONG {
            break;
        }
    }
    Ok(fastest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_the_processor_are_in_f32() {
        let check = ProductCheck::run(&crate::device::cpu()).expect("a product");
        assert_eq!(check.format(), Some("f32"), "{check:?}");
        assert!(check.flops > 0.0, "{check:?}");
    }

    #[test]
    fn format_follows_from_the_error() {
        let with = |error| ProductCheck {
            error,
            flops: 1.0,
            size: 512,
        };
        assert_eq!(with(5e-4).format(), Some("TF32"));
        assert_eq!(with(0.5).format(), None);
        assert_eq!(with(f64::NAN).format(), None);
    }
}
