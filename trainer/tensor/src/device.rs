//! The device of tensors, chosen at run time among those that the program was built with.

use std::str::FromStr;

#[cfg(feature = "burn")]
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

/// Returns the processor, which every build has.
#[cfg(feature = "burn")]
#[must_use]
pub fn cpu() -> Device {
    Device::flex()
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

#[cfg(feature = "burn")]
impl DeviceName {
    /// Opens the device and returns its handle.
    ///
    /// # Errors
    /// Returns an error if this program was built without the device, or the device does not start.
    pub fn open(self) -> Result<Device, DeviceError> {
        match self {
            Self::Cpu => Ok(cpu()),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => self.start(|| Device::wgpu(burn::tensor::DeviceKind::DefaultDevice)),
            #[cfg(feature = "cuda")]
            Self::Cuda => self.start(|| Device::cuda(0_usize)),
            #[cfg(not(all(feature = "wgpu", feature = "cuda")))]
            _ => Err(DeviceError::NotBuilt(self)),
        }
    }

    /// Opens a GPU and adds two numbers on it, which starts its driver and compiles a kernel.
    #[cfg(any(feature = "wgpu", feature = "cuda"))]
    fn start(self, open: impl FnOnce() -> Device) -> Result<Device, DeviceError> {
        // Where a driver or a toolkit is missing, the libraries of devices panic.
        let started = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let device = open();
            let one = burn::tensor::Tensor::<1>::from_data([1.0_f32], &device);
            let two = crate::transfer::numbers(one.add_scalar(1.0_f32));
            two.map(|two| (two, device))
        }));
        let reason = match started {
            Ok(Ok((two, device))) if two == [2.0] => return Ok(device),
            Ok(Ok((two, _))) => format!("1 + 1 is {two:?} on it"),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "its library reported the reason above".to_owned(),
        };
        Err(DeviceError::NotStarted {
            device: self,
            reason,
            check: match self {
                Self::Cuda => {
                    "an NVIDIA GPU, a driver at least as new as the CUDA version of the build, and \
                     the CUDA toolkit (in CUDA_PATH, else /usr/local/cuda)"
                }
                _ => "a GPU with a driver for Vulkan, Metal or DirectX",
            },
        })
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
        "device {device} does not start ({reason}): check that the machine has {check}; or use --device cpu"
    )]
    NotStarted {
        /// The device that does not start.
        device: DeviceName,
        /// The reason, as far as it is known.
        reason: String,
        /// Hardware and software that the device needs.
        check: &'static str,
    },
}

impl FromStr for DeviceName {
    type Err = DeviceError;

    fn from_str(word: &str) -> Result<Self, DeviceError> {
        Self::parse(word).ok_or_else(|| DeviceError::Unknown(word.to_owned()))
    }
}
