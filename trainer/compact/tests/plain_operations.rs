//! Every operation of the plain matrices against burn: values, and gradients by each input.

use sentinel_compact::parameter_tensors::DefaultTensor;
use sentinel_compact::plain::{Cpu, Matrix};
use sentinel_compact::{Error, Tensor};
use sentinel_env::rng::PyRandom;
use sentinel_tensor::adamw::AdamOptions;
use sentinel_tensor::device::cpu;

/// The largest difference between values of about 1.
const TOLERANCE: f32 = 2e-6;
/// The number of random inputs for each operation.
const CASES: u64 = 20;

/// Returns random numbers between -2 and 2; in every second case few different ones, so that some
/// are equal or 0.
fn numbers(case: u64, input: u64, count: usize) -> Vec<f32> {
    let mut random = PyRandom::new(1_000 * case + input);
    let mut draw = || 4.0 * random.random() as f32 - 2.0;
    let coarse = case.is_multiple_of(2);
    let next = |_| match coarse {
        true => (draw() * 2.0).round() / 2.0,
        false => draw(),
    };
    (0..count).map(next).collect()
}

/// Computes an operation on parameters of these shapes; returns its values, then the gradients by
/// each parameter of a weighted sum of the values.
fn evaluate<T: Tensor>(
    case: u64,
    shapes: &[[usize; 2]],
    device: &T::Device,
    operation: impl Fn(Vec<T>) -> T,
) -> Result<Vec<Vec<f32>>, Error> {
    let parameter = |(index, shape): (u64, &[usize; 2])| {
        T::parameter(numbers(case, index, shape[0] * shape[1]), *shape, device)
    };
    let parameters: Vec<T> = (0..).zip(shapes).map(parameter).collect();
    let output = operation(parameters.clone());
    let mut all = vec![output.values()?];
    let weights = numbers(case, 99, all[0].len());
    let parameters: Vec<Option<T>> = parameters.into_iter().map(Some).collect();
    for gradient in T::gradients(vec![(output, weights)], &parameters) {
        all.push(gradient.map_or(Ok(Vec::new()), |gradient| gradient.values())?);
    }
    Ok(all)
}

fn assert_close(ours: &[Vec<f32>], theirs: &[Vec<f32>], case: u64) {
    assert_eq!(ours.len(), theirs.len());
    for (part, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(ours.len(), theirs.len(), "case {case}, part {part}");
        for (a, b) in ours.iter().zip(theirs) {
            let close = (a - b).abs() <= TOLERANCE * b.abs().max(1.0);
            assert!(close, "case {case}, part {part}: {ours:?} and {theirs:?}");
        }
    }
}

/// Declares a test of an operation on inputs of some shapes.
macro_rules! operation {
    ($name:ident, [$($shape:expr),+], |$inputs:pat_param| $body:expr) => {
        #[test]
        fn $name() -> Result<(), Error> {
            fn operation<T: Tensor>(inputs: Vec<T>) -> T {
                let Ok($inputs) = <[T; [$($shape),+].len()]>::try_from(inputs) else {
                    panic!("another number of inputs");
                };
                $body
            }
            for case in 0..CASES {
                let shapes = [$($shape),+];
                let ours = evaluate(case, &shapes, &Cpu, operation::<Matrix>)?;
                let theirs = evaluate(case, &shapes, &cpu(), operation::<DefaultTensor>)?;
                assert_close(&ours, &theirs, case);
            }
            Ok(())
        }
    };
}

operation!(product_matches_burn, [[5, 3], [3, 9]], |[a, b]| a
    .product(b));
operation!(product_of_column_matches_burn, [[6, 4], [4, 1]], |[
    a,
    b,
]| a
    .product(b));
operation!(plus_same_shape_matches_burn, [[4, 3], [4, 3]], |[a, b]| a
    .plus(b));
operation!(plus_row_matches_burn, [[4, 3], [1, 3]], |[a, b]| a.plus(b));
operation!(plus_row_of_set_matches_burn, [[6, 3], [2, 3]], |[a, b]| a
    .plus(b));
operation!(divide_matches_burn, [[3, 4]], |[a]| a.divide(3.0));
operation!(rectify_matches_burn, [[3, 4]], |[a]| a.rectify());
operation!(repeat_row_matches_burn, [[1, 4]], |[a]| a.repeat_row(3));
operation!(sum_sets_matches_burn, [[6, 4]], |[a]| a.sum_sets(3));
operation!(mean_sets_matches_burn, [[6, 4]], |[a]| a.mean_sets(3));
operation!(max_sets_matches_burn, [[6, 4]], |[a]| a.max_sets(3));
operation!(flatten_sets_matches_burn, [[6, 4]], |[a]| a.flatten_sets(3));
operation!(columns_matches_burn, [[3, 5]], |[a]| a.columns(1..4));
operation!(beside_matches_burn, [[3, 2], [3, 1], [3, 4]], |[
    a,
    b,
    c,
]| {
    T::beside(vec![a, b, c])
});
operation!(log_softmax_matches_burn, [[3, 5]], |[a]| a
    .log_softmax_rows());
operation!(entropy_matches_burn, [[3, 5]], |[a]| {
    a.log_softmax_rows().entropy_rows()
});
operation!(cross_entropy_matches_burn, [[3, 5]], |[a]| {
    a.cross_entropy(&[4, 0, 2])
});
operation!(several_uses_match_burn, [[4, 3], [3, 3]], |[a, b]| {
    let all = a.clone().product(b.clone());
    let shared = all.clone().grouped();
    all.plus(shared.clone().product(b))
        .plus(shared.rectify())
        .plus(a)
});

/// Masks and features are constants.
#[test]
fn scale_rows_matches_burn() -> Result<(), Error> {
    fn operation<T: Tensor>(mut inputs: Vec<T>, device: &T::Device) -> T {
        let factors = T::constant(vec![1.0, 0.0, 0.25], [3, 1], device);
        inputs.remove(0).scale_rows(factors)
    }
    for case in 0..CASES {
        let ours = evaluate(case, &[[3, 4]], &Cpu, |inputs: Vec<Matrix>| {
            operation(inputs, &Cpu)
        })?;
        let theirs = evaluate(case, &[[3, 4]], &cpu(), |inputs: Vec<DefaultTensor>| {
            operation(inputs, &cpu())
        })?;
        assert_close(&ours, &theirs, case);
    }
    Ok(())
}

/// A parameter that no output depends on has no gradient.
#[test]
fn unused_parameter_has_no_gradient() {
    let [used, unused] = [(); 2].map(|()| Matrix::parameter(vec![1.0, 2.0], [1, 2], &Cpu));
    let output = used.clone().divide(2.0);
    let found = Matrix::gradients(
        vec![(output, vec![1.0, 1.0])],
        &[Some(used), Some(unused), None],
    );
    let values = found
        .iter()
        .map(|one| one.as_ref().and_then(|one| one.values().ok()));
    assert_eq!(
        values.collect::<Vec<_>>(),
        [Some(vec![0.5, 0.5]), None, None]
    );
}

/// Returns a parameter and its moments after some steps of AdamW.
fn steps<T: Tensor>(options: &AdamOptions, device: &T::Device) -> Result<Vec<Vec<f32>>, Error> {
    let shape = [3, 4];
    let mut parameter = T::parameter(numbers(1, 0, 12), shape, device);
    let mut moments = None;
    for step in 0..20 {
        let gradient = T::constant(numbers(1 + 2 * step, 1, 12), shape, device);
        let gradient = gradient.scale_gradient(0.3);
        (parameter, moments) = parameter.adamw(gradient, moments, options, 0.01);
        // As a checkpoint does.
        if let Some(saved) = &moments {
            let saved = T::read_moments(saved)?;
            moments = Some(T::restore_moments(saved, shape, device));
        }
    }
    let moments = moments
        .map(|moments| T::read_moments(&moments))
        .transpose()?;
    let moments = moments.unwrap_or_default();
    assert_eq!(moments.time, 20);
    Ok(vec![parameter.values()?, moments.first, moments.second])
}

#[test]
fn adamw_matches_burn() -> Result<(), Error> {
    for weight_decay in [0.0, 0.1] {
        let options = AdamOptions {
            weight_decay,
            ..AdamOptions::default()
        };
        let ours = steps::<Matrix>(&options, &Cpu)?;
        let theirs = steps::<DefaultTensor>(&options, &cpu())?;
        assert_close(&ours, &theirs, 0);
    }
    Ok(())
}
