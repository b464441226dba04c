//! NumPy arrays from Python, whose shape and order are checked before they are read or written.

use numpy::{Element, PyReadonlyArrayDyn, PyReadwriteArrayDyn, PyUntypedArrayMethods};
use pyo3::PyResult;

use crate::spec::value_error;

/// An array that a function writes.
pub(crate) type OutArray<'py, T> = PyReadwriteArrayDyn<'py, T>;

/// Returns the entries of an array that is written.
///
/// # Errors
/// Returns an error if the array has another shape or is not contiguous in C order: its entries would
/// land in wrong places.
pub(crate) fn out_slice<'a, T: Element>(
    array: &'a mut OutArray<'_, T>,
    name: &str,
    shape: &[usize],
) -> PyResult<&'a mut [T]> {
    check_shape(name, array.shape(), shape)?;
    if !array.is_c_contiguous() {
        return Err(value_error(format!(
            "{name} is not contiguous in C order: make it with numpy.empty({})",
            python_shape(shape)
        )));
    }
    let not_aligned = |_| value_error(format!("{name} is not aligned in memory"));
    array.as_slice_mut().map_err(not_aligned)
}

/// Like [`out_slice`] for an array that may be left out.
pub(crate) fn optional_slice<'a, T: Element>(
    array: &'a mut Option<OutArray<'_, T>>,
    name: &str,
    shape: &[usize],
) -> PyResult<Option<&'a mut [T]>> {
    let slice = array.as_mut().map(|array| out_slice(array, name, shape));
    slice.transpose()
}

/// Copies actions in C order, so that no other thread can change them while they are taken.
///
/// # Errors
/// Returns an error if the array has another shape.
pub(crate) fn copy_actions(
    array: &PyReadonlyArrayDyn<'_, i64>,
    shape: &[usize],
) -> PyResult<Vec<i64>> {
    check_shape("the array of actions", array.shape(), shape)?;
    if !array.is_aligned() {
        return Err(value_error("the array of actions is not aligned in memory"));
    }
    if array.is_c_contiguous()
        && let Ok(slice) = array.as_slice()
    {
        return Ok(slice.to_vec());
    }
    Ok(array.as_array().iter().copied().collect())
}

fn check_shape(name: &str, found: &[usize], shape: &[usize]) -> PyResult<()> {
    if found == shape {
        return Ok(());
    }
    let (found, shape) = (python_shape(found), python_shape(shape));
    Err(value_error(format!(
        "{name} has shape {found}, and must have {shape}"
    )))
}

/// Formats a shape as Python does.
fn python_shape(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            format!("({})", sizes.join(", "))
        }
    }
}
