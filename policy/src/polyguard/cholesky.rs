//! Linear systems with a symmetric positive definite matrix. Every operation runs in a fixed order,
//! so that every target computes the same bits.

use super::features::{FEATURES, Features};

/// A square matrix `[FEATURES, FEATURES]`, row by row.
pub(super) type Matrix = [Features; FEATURES];

/// Returns the identity matrix times `scale`.
pub(super) fn identity(scale: f64) -> Matrix {
    let mut matrix = [[0.0; FEATURES]; FEATURES];
    for (at, row) in matrix.iter_mut().enumerate() {
        row[at] = scale;
    }
    matrix
}

/// Adds `scale · v vᵀ` to the matrix.
pub(super) fn add_outer(matrix: &mut Matrix, v: &Features, scale: f64) {
    for (row, a) in matrix.iter_mut().zip(v) {
        let a = scale * a;
        // Most features of a candidate are 0, so skipping them saves time.
        if a != 0.0 {
            for (cell, b) in row.iter_mut().zip(v) {
                *cell += a * b;
            }
        }
    }
}

/// The lower triangular factor `L` of `A = L Lᵀ`.
#[derive(Clone, Debug)]
pub(super) struct Cholesky(Matrix);

impl Cholesky {
    /// Computes the factor of a symmetric matrix, of which only the lower triangle is read; `None`
    /// unless it is positive definite.
    pub(super) fn new(matrix: &Matrix) -> Option<Self> {
        let mut lower = [[0.0; FEATURES]; FEATURES];
        for i in 0..FEATURES {
            for j in 0..=i {
                let sum: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
                let rest = matrix[i][j] - sum;
                if i != j {
                    lower[i][j] = rest / lower[j][j];
                } else if rest > 0.0 {
                    lower[i][i] = rest.sqrt();
                } else {
                    return None;
                }
            }
        }
        Some(Self(lower))
    }

    /// Solves `L x = v`, which is `L⁻¹ v`.
    pub(super) fn forward(&self, v: &Features) -> Features {
        let mut x = [0.0; FEATURES];
        for i in 0..FEATURES {
            let sum: f64 = (0..i).map(|k| self.0[i][k] * x[k]).sum();
            x[i] = (v[i] - sum) / self.0[i][i];
        }
        x
    }

    /// Solves `Lᵀ x = v`, which is `L⁻ᵀ v`.
    pub(super) fn backward(&self, v: &Features) -> Features {
        let mut x = [0.0; FEATURES];
        for i in (0..FEATURES).rev() {
            let sum: f64 = (i + 1..FEATURES).map(|k| self.0[k][i] * x[k]).sum();
            x[i] = (v[i] - sum) / self.0[i][i];
        }
        x
    }

    /// Solves `A x = v`, which is `A⁻¹ v`.
    pub(super) fn solve(&self, v: &Features) -> Features {
        self.backward(&self.forward(v))
    }
}

#[cfg(test)]
mod tests {
    use super::super::features::dot;
    use super::*;

    fn sample() -> Matrix {
        let mut matrix = identity(1.0);
        for at in 0..40 {
            let v: Features = std::array::from_fn(|i| ((at * 7 + i * 5) % 11) as f64 - 4.0);
            add_outer(&mut matrix, &v, 0.5);
        }
        matrix
    }

    #[test]
    fn cholesky_solution_satisfies_system() {
        let (matrix, b) = (sample(), std::array::from_fn(|i| i as f64 - 7.0));
        let x = Cholesky::new(&matrix).expect("positive definite").solve(&b);
        for (row, b) in matrix.iter().zip(b) {
            assert!((dot(row, &x) - b).abs() < 1e-9);
        }
    }

    #[test]
    fn forward_substitution_gives_inverse_norm() {
        let (matrix, v) = (sample(), std::array::from_fn(|i| (i % 3) as f64));
        let cholesky = Cholesky::new(&matrix).expect("positive definite");
        let half = cholesky.forward(&v);
        assert!((dot(&half, &half) - dot(&v, &cholesky.solve(&v))).abs() < 1e-9);
    }

    #[test]
    fn non_positive_definite_matrix_is_refused() {
        assert!(Cholesky::new(&identity(0.0)).is_none());
        let mut matrix = identity(1.0);
        matrix[3][3] = -1.0;
        assert!(Cholesky::new(&matrix).is_none());
    }
}
