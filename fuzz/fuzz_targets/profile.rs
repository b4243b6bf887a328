//! Profiles, saved ones and those of profilers: read or refused, and models answer or refuse what was read.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use warplens_session::machines::{self, Machine};
use warplens_session::predict::{Options, measured_on};
use warplens_session::{Choice, Input, import};

static MACHINES: LazyLock<Vec<Machine>> =
    LazyLock::new(|| ["gtx280", "h200"].map(|gpu| machines::one(gpu).expect("it is built in")).into());

fuzz_target!(|bytes: &[u8]| {
    for name in ["profile.json", "log.csv", "report.ncu-rep"] {
        let Ok(input) = Input::new(name, None, bytes.to_owned()) else { return };
        let Ok(measurements) = import::read(&input) else { continue };
        for measurement in measurements.iter().take(2) {
            for machine in MACHINES.iter() {
                let _ = measured_on(measurement, machine, &Choice::All, Options::default());
            }
        }
    }
});
