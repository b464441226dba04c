//! The device of tensors, chosen at run time among those that the program was built with.

use std::str::FromStr;

use burn::tensor::Device;
use sentinel_env::named_enum;

named_enum! {
    /// A kind of device, by its name on the command line.
    #[derive(Default)]
    pub enum DeviceName {
        /// The processor, through burn's flex backend; bit-identical from run to run.
        #[default]
        Cpu = "cpu",
        /// A graphics processor through WebGPU: Vulkan, Metal or DirectX.
        Wgpu = "wgpu",
        /// An NVIDIA graphics processor through CUDA.
        Cuda = "cuda",
    }
}

/// Returns the devices of this build, separated by commas.
#[must_use]
pub fn available() -> String {
    let built = |name: &DeviceName| match name {
        DeviceName::Cpu => true,
        DeviceName::Wgpu => cfg!(feature = "wgpu"),
        DeviceName::Cuda => cfg!(feature = "cuda"),
    };
    let names: Vec<&str> = (DeviceName::ALL.iter())
        .filter(|name| built(name))
        .map(|name| name.name())
        .collect();
    names.join(", ")
}

impl DeviceName {
    /// Opens the device and returns its handle.
    ///
    /// # Errors
    /// Returns an error if this program was built without the device, or the device does not start.
    pub fn open(self) -> Result<Device, DeviceError> {
        match self {
            Self::Cpu => Ok(Device::flex()),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => self.start(|| Device::wgpu(burn::tensor::DeviceKind::DefaultDevice)),
            #[cfg(feature = "cuda")]
            Self::Cuda => self.start(|| Device::cuda(0_usize)),
            #[cfg(not(all(feature = "wgpu", feature = "cuda")))]
            _ => Err(DeviceError::NotBuilt(self)),
        }
    }

    /// Opens a GPU, and moves a number to it and back, which starts its driver.
    #[cfg(any(feature = "wgpu", feature = "cuda"))]
    fn start(self, open: impl FnOnce() -> Device) -> Result<Device, DeviceError> {
        // Where a driver is missing, the libraries of devices panic.
        let started = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let device = open();
            let number = burn::tensor::Tensor::<1>::from_data([1.0_f32], &device);
            crate::tensors::numbers(number).map(|_| device)
        }));
        match started {
            Ok(Ok(device)) => Ok(device),
            Ok(Err(error)) => Err(DeviceError::NotStarted(self, error.to_string())),
            Err(_) => Err(DeviceError::NotStarted(
                self,
                "its library reported the reason above".to_owned(),
            )),
        }
    }
}

/// The reason why a device is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// No device has this name.
    #[error("unknown device {0:?}: this build has {have}", have = available())]
    Unknown(String),
    /// The device needs a cargo feature that is not enabled.
    #[error("device {0} is not in this build, which has {have}: build with `--features {0}`", have = available())]
    NotBuilt(DeviceName),
    /// The device could not be used.
    #[error(
        "device {0} does not start ({1}): check that the machine has such a GPU and its driver, or use --device cpu"
    )]
    NotStarted(DeviceName, String),
}

impl FromStr for DeviceName {
    type Err = DeviceError;

    fn from_str(word: &str) -> Result<Self, DeviceError> {
        Self::parse(word).ok_or_else(|| DeviceError::Unknown(word.to_owned()))
    }
}
