//! A matrix product on a device, compared with the processor and timed.

use std::sync::Barrier;
use std::time::Instant;

use burn::tensor::{Device, Tensor};

use crate::transfer::{DeviceReadError, matrix, numbers};

/// The size of the matrices that are compared.
const COMPARED: usize = 192;
/// The smallest and the largest size of the matrices that are timed.
const TIMED: [usize; 2] = [512, 4096];
/// The time that a product has to take to be worth timing, in seconds.
const LONG: f64 = 0.02;
/// The number of products that are timed.
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
    /// Multiplies matrices on a device: small ones to compare them, and larger ones, until a product takes
    /// long enough, to time them in `threads` threads at once.
    ///
    /// # Errors
    /// Returns an error if the device cannot be read.
    pub fn run(device: &Device, threads: usize) -> Result<Self, DeviceReadError> {
        let error = compare(device)?;
        let mut size = TIMED[0];
        while size < TIMED[1] && Factors::new(device, size).time(1)? < LONG {
            size *= 2;
        }
        let threads = threads.max(1);
        let seconds = time_together(device, size, threads)?;
        let operations = 2.0 * (size as f64).powi(3) * (threads * REPEATS) as f64;
        Ok(Self {
            error,
            flops: operations / seconds,
            size,
        })
    }

    /// Returns the format that the factors of the products have, judged by the error; `None` if the result
    /// is worse than that.
    #[must_use]
    pub fn format(&self) -> Option<&'static str> {
        match self.error {
            error if error < 1e-5 => Some("f32"),
            // Ten bits after the leading one, in place of 23; bf16 has seven.
            error if error < 1e-3 => Some("TF32 or f16"),
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
    Ok(relative_error(&a, &b, &found))
}

/// Returns the largest difference of `found` from the product of `a` and `b`, divided by the largest number of the
/// product.
fn relative_error(a: &[f32], b: &[f32], found: &[f32]) -> f64 {
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
    difference / largest
}

/// Square matrices that are multiplied to measure the time.
struct Factors(Tensor<2>, Tensor<2>);

impl Factors {
    fn new(device: &Device, size: usize) -> Self {
        Self(
            matrix(values(size, 997), [size; 2], device),
            matrix(values(size, 1613), [size; 2], device),
        )
    }

    /// Returns the seconds of `count` products after the first.
    fn time(&self, count: usize) -> Result<f64, DeviceReadError> {
        self.multiply()?;
        let start = Instant::now();
        for _ in 0..count {
            self.multiply()?;
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// Multiplies, and reads one number, which waits for the whole product.
    fn multiply(&self) -> Result<(), DeviceReadError> {
        let product = self.0.clone().matmul(self.1.clone());
        numbers(product.slice([0..1, 0..1])).map(|_| ())
    }
}

/// Returns the seconds in which each thread multiplies [`REPEATS`] times, all at once.
fn time_together(device: &Device, size: usize, threads: usize) -> Result<f64, DeviceReadError> {
    let factors = Factors::new(device, size);
    let barrier = Barrier::new(threads);
    let work = || {
        // The first product of a thread may allocate its buffers.
        let warm = factors.multiply();
        barrier.wait();
        let start = Instant::now();
        warm?;
        for _ in 0..REPEATS {
            factors.multiply()?;
        }
        Ok((start, Instant::now()))
    };
    let times = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = started.into_iter().map(|thread| match thread.join() {
            Ok(times) => times,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect::<Result<Vec<(Instant, Instant)>, DeviceReadError>>()
    })?;
    let start = times.iter().map(|(start, _)| *start).min();
    let end = times.iter().map(|(_, end)| *end).max();
    Ok(start
        .zip(end)
        .map_or(0.0, |(start, end)| (end - start).as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_the_processor_are_in_f32() {
        let check = ProductCheck::run(&crate::device::cpu(), 2).expect("a product");
        assert_eq!(check.format(), Some("f32"), "{check:?}");
        assert!(check.flops.is_finite() && check.flops > 0.0, "{check:?}");
    }

    /// Returns the check of a product whose factors keep `bits` bits after the leading one.
    fn rounded(bits: u32) -> ProductCheck {
        let (a, b) = (values(COMPARED, 997), values(COMPARED, 1613));
        let lost = 23 - bits;
        let round = |x: &f32| {
            let half = 1_u32 << (lost - 1);
            f32::from_bits((x.to_bits() + half) >> lost << lost)
        };
        let on_device = |values: &[f32]| {
            let rounded = values.iter().map(round).collect();
            matrix(rounded, [COMPARED; 2], &crate::device::cpu())
        };
        let found = numbers(on_device(&a).matmul(on_device(&b))).expect("numbers");
        ProductCheck {
            error: relative_error(&a, &b, &found),
            flops: 1.0,
            size: COMPARED,
        }
    }

    #[test]
    fn formats_are_told_apart_by_their_error() {
        assert_eq!(
            rounded(10).format(),
            Some("TF32 or f16"),
            "{:?}",
            rounded(10)
        );
        assert_eq!(rounded(7).format(), None, "bf16: {:?}", rounded(7));
        let broken = ProductCheck {
            error: f64::NAN,
            ..rounded(10)
        };
        assert_eq!(broken.format(), None);
    }
}
