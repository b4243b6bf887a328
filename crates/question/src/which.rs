//! Which GPU for a kernel: times, and prices of a run by what the user pays for an hour.
//!
//! Prices are the user's own: the program knows none. The time is that of the GPU alone; an hour that is paid for holds
//! more than kernels.

use serde::Deserialize;
use warplens_base::error::{Error, Result};
use warplens_base::units::Seconds;
use warplens_model::{ModelId, Resource};
use warplens_session::Analysis;
use warplens_session::predict::GpuAnalysis;

use crate::toml_file;

/// What an hour of each GPU costs.
#[derive(Clone, PartialEq, Debug)]
pub struct Prices {
    /// What the prices are in, as the user writes it.
    pub currency: String,
    /// Price of an hour by the reference of a GPU, in the order of the references.
    pub per_hour: Vec<(String, f64)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    #[serde(default)]
    currency: String,
    per_hour: toml::Table,
}

/// Seconds of an hour.
const HOUR: f64 = 3600.0;

impl Prices {
    /// Reads a price file that is called `name` in messages.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let file: PriceFile = toml_file::read(name, text)?;
        let mut per_hour = Vec::new();
        for (gpu, value) in file.per_hour {
            let number = value.as_float().or(value.as_integer().map(|number| number as f64));
            let price = number.filter(|price| price.is_finite() && *price >= 0.0);
            let wrong = || Error::usage(format!("{name}, [per_hour]: the price of `{gpu}` is no number from 0 on"));
            let price = price.ok_or_else(wrong)?;
            per_hour.push((gpu, price));
        }
        match per_hour.is_empty() {
            true => Err(Error::usage(format!("{name}: [per_hour] names no GPU"))
                .with_help("write gpu = price, as in h200 = 3.5")),
            false => Ok(Self { currency: file.currency, per_hour }),
        }
    }

    /// The GPUs that have a price, as a list for `--gpu`. Names with a comma cannot be in one.
    pub fn gpus(&self) -> String {
        self.per_hour.iter().map(|(gpu, _)| gpu.as_str()).collect::<Vec<_>>().join(",")
    }
}

/// GPUs for a kernel, or for a sequence of launches.
#[derive(Clone, PartialEq, Debug)]
pub struct Which {
    /// The kernels that are launched, in their order.
    pub kernels: Vec<String>,
    /// What the prices are in; none without prices.
    pub currency: Option<String>,
    /// GPUs with a time: the cheapest first, or the fastest first where there are no prices.
    pub gpus: Vec<Candidate>,
    /// GPUs without one, with the reason.
    pub refused: Vec<(String, String)>,
}

/// A GPU that can run the kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// Identifier.
    pub gpu: String,
    /// Marketing name.
    pub name: String,
    /// Time of all launches together.
    pub time: Seconds,
    /// Where that time lies by what was validated; none where too little was for one of the launches.
    pub range: Option<(Seconds, Seconds)>,
    /// The time over that of the fastest.
    pub slowdown: f64,
    /// What an hour costs; none where the user gave no price.
    pub per_hour: Option<f64>,
    /// What the launches cost.
    pub per_run: Option<f64>,
    /// What bounds the longest launch.
    pub limiter: Resource,
    /// The models that answered, each once.
    pub models: Vec<ModelId>,
}

/// Adds up what the launches take on each GPU. `prices` are for the GPUs in their order, with the currency.
pub fn which(analyses: &[Analysis], prices: Option<(&str, &[Option<f64>])>) -> Which {
    let kernels = analyses.iter().map(|analysis| analysis.measurement.kernel.base().to_owned()).collect();
    let (mut gpus, mut refused) = (Vec::new(), Vec::new());
    for at in 0..analyses.first().map_or(0, |analysis| analysis.gpus.len()) {
        let on: Vec<&GpuAnalysis> = analyses.iter().map(|analysis| &analysis.gpus[at]).collect();
        let per_hour = prices.and_then(|(_, prices)| prices[at]);
        match candidate(&on, per_hour) {
            Ok(candidate) => gpus.push(candidate),
            Err(reason) => refused.push((on[0].machine.id.clone(), reason)),
        }
    }
    let fastest = gpus.iter().map(|gpu| gpu.time.0).fold(f64::INFINITY, f64::min);
    gpus.iter_mut().for_each(|gpu| gpu.slowdown = gpu.time.0 / fastest);
    // GPUs without a price come after those with one.
    let price = |gpu: &Candidate| gpu.per_run.unwrap_or(f64::INFINITY);
    gpus.sort_by(|left, right| {
        let by_time = left.time.0.total_cmp(&right.time.0);
        if prices.is_some() { price(left).total_cmp(&price(right)).then(by_time) } else { by_time }
    });
    Which { kernels, currency: prices.map(|(currency, _)| currency.to_owned()), gpus, refused }
}

/// The launches on one GPU; or why one of them has no time there.
fn candidate(launches: &[&GpuAnalysis], per_hour: Option<f64>) -> std::result::Result<Candidate, String> {
    let mut time = 0.0;
    let mut range = Some((0.0, 0.0));
    let mut models = Vec::new();
    let mut longest: Option<(f64, Resource)> = None;
    for launch in launches {
        let Some(prediction) = launch.prediction() else {
            let reason = launch.answers.iter().find_map(|answer| answer.result.as_ref().err());
            return Err(reason.map_or_else(|| "no model answered".to_owned(), ToString::to_string));
        };
        let seconds = prediction.seconds().0;
        time += seconds;
        let own = launch.range.as_ref().map(|range| (range.low.0, range.high.0));
        range = range.zip(own).map(|(sum, own)| (sum.0 + own.0, sum.1 + own.1));
        if !models.contains(&prediction.model) {
            models.push(prediction.model);
        }
        if longest.is_none_or(|(most, _)| seconds > most) {
            longest = Some((seconds, prediction.limiter()));
        }
    }
    let machine = &launches[0].machine;
    let (_, limiter) = longest.ok_or_else(|| "nothing is launched".to_owned())?;
    Ok(Candidate {
        gpu: machine.id.clone(),
        name: machine.name.clone(),
        time: Seconds(time),
        range: range.map(|(low, high)| (Seconds(low), Seconds(high))),
        slowdown: 1.0,
        per_hour,
        per_run: per_hour.map(|price| price * time / HOUR),
        limiter,
        models,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_read() {
        let prices = Prices::parse("p.toml", "currency = \"EUR\"\n[per_hour]\nh200 = 4\n\"a100-80\" = 1.5\n").unwrap();
        assert_eq!((prices.currency.as_str(), prices.gpus().as_str()), ("EUR", "a100-80,h200"));
        assert_eq!(prices.per_hour[0].1, 1.5);
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for (text, message) in [
            ("[per_hour]\n", "names no GPU"),
            ("[per_hour]\nh200 = \"x\"\n", "is no number"),
            ("[per_hour]\nh200 = -1\n", "is no number"),
            ("[per_hour]\nh200 = nan\n", "is no number"),
            ("[prices]\n", "p.toml, line 1"),
            ("[per_hour\n", "p.toml, line 1"),
        ] {
            let error = Prices::parse("p.toml", text).unwrap_err();
            assert!(error.message.contains(message), "{text}: {}", error.message);
        }
    }
}
