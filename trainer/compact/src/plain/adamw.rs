//! The update of a parameter by AdamW (arXiv:1711.05101).

use sentinel_tensor::adamw::{AdamOptions, Moments};

/// Takes a step: updates the moments by the gradient, and the values by the moments. The first step
/// is one with empty moments.
pub(super) fn step(
    values: &mut [f32],
    gradient: &[f32],
    moments: &mut Moments,
    options: &AdamOptions,
    learning_rate: f64,
) {
    let AdamOptions { beta1, beta2, .. } = *options;
    moments.time += 1;
    moments.first.resize(values.len(), 0.0);
    moments.second.resize(values.len(), 0.0);
    // The moments start at 0, which the first steps would otherwise keep them near to.
    let correction = |beta: f32| (1.0 - libm::pow(f64::from(beta), moments.time as f64)) as f32;
    let (correction1, correction2) = (correction(beta1), correction(beta2));
    let kept = (1.0 - learning_rate * f64::from(options.weight_decay)) as f32;
    let rate = learning_rate as f32;
    let states = moments.first.iter_mut().zip(&mut moments.second);
    for ((value, gradient), (first, second)) in values.iter_mut().zip(gradient).zip(states) {
        *first = *first * beta1 + gradient * (1.0 - beta1);
        *second = *second * beta2 + gradient * gradient * (1.0 - beta2);
        let size = (*second / correction2).sqrt() + options.epsilon;
        *value = *value * kept - *first / correction1 / size * rate;
    }
}
