//! Impairments of a link: loss, duplication, corruption, reordering and delay of frames.
//!
//! Both drivers use this model: the simulator for every frame on a link, the live switch for every
//! frame at a port. The model has no clock; it returns by how much each copy of a frame is
//! delayed, and which of its bits are flipped.

use netkv_roles::Nanos;
use netkv_workload::Random;
use serde::Deserialize;

use crate::burst::Burst;

/// Maximum number of copies of one frame.
pub const COPIES: usize = 2;
/// The longest delay and jitter that can be set: 10 s.
pub const LONGEST_DELAY: Nanos = 10_000_000_000;
/// Default of [`Impairment::reorder_span`]: 1 ms.
pub const REORDER_SPAN: Nanos = 1_000_000;

/// Direction of frames on a link, seen from the host at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the switch to the host.
    To,
    /// From the host to the switch.
    From,
}

/// Impairment of one direction of a link. The default is none.
///
/// In JSON all times are in seconds and all fields are optional:
/// `{"loss": 0.01, "corrupt": 0, "reorder": 0.1, "delay": 0.0005, "jitter": 0.0001}`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "ImpairmentJson")]
pub struct Impairment {
    /// Probability that a frame is lost, with its duplicate; 1 cuts the link.
    pub loss: f64,
    /// Probability that a frame that is not lost arrives twice.
    pub duplicate: f64,
    /// Probability that a copy has a [`Burst`] of flipped bits.
    pub corrupt: f64,
    /// Probability that a copy is held back, so that later frames overtake it.
    pub reorder: f64,
    /// Delay of every frame.
    pub delay: Nanos,
    /// Each copy has a further delay, uniform from 0 to this. Frames that are closer to each other
    /// than the jitter may be reordered.
    pub jitter: Nanos,
    /// A copy that is held back has a further delay, uniform from 1 ns to this.
    pub reorder_span: Nanos,
}

impl Default for Impairment {
    fn default() -> Self {
        Self::NONE
    }
}

impl Impairment {
    /// A link without impairments.
    pub const NONE: Self = Self {
        loss: 0.0,
        duplicate: 0.0,
        corrupt: 0.0,
        reorder: 0.0,
        delay: 0,
        jitter: 0,
        reorder_span: REORDER_SPAN,
    };

    /// True if frames pass unchanged.
    pub fn is_none(&self) -> bool {
        Self { reorder_span: REORDER_SPAN, ..*self } == Self::NONE
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    ///
    /// A sentence: what is wrong and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text)
            .map_err(|error| format!("This is not an impairment of a link: {error}."))
    }

    /// Checks that all values are in range.
    ///
    /// # Errors
    ///
    /// A sentence about the first value that is not.
    pub fn check(&self) -> Result<(), String> {
        let shares = [
            ("loss", self.loss),
            ("duplicate", self.duplicate),
            ("corrupt", self.corrupt),
            ("reorder", self.reorder),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!(
                    "'{name}' is {share}; it is a probability, so it must be 0 to 1"
                ));
            }
        }
        let times =
            [("delay", self.delay), ("jitter", self.jitter), ("reorder_span", self.reorder_span)];
        for (name, time) in times {
            if time > LONGEST_DELAY {
                let seconds = time as f64 / 1e9;
                return Err(format!("'{name}' is {seconds} s; it must be 0 to 10 s"));
            }
        }
        if self.reorder > 0.0 && self.reorder_span == 0 {
            return Err("'reorder' needs a 'reorder_span' above 0 s".to_owned());
        }
        Ok(())
    }
}

/// The JSON form of [`Impairment`]; times in seconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ImpairmentJson {
    loss: f64,
    duplicate: f64,
    corrupt: f64,
    reorder: f64,
    delay: f64,
    jitter: f64,
    reorder_span: f64,
}

impl Default for ImpairmentJson {
    fn default() -> Self {
        let reorder_span = REORDER_SPAN as f64 / 1e9;
        Self {
            loss: 0.0,
            duplicate: 0.0,
            corrupt: 0.0,
            reorder: 0.0,
            delay: 0.0,
            jitter: 0.0,
            reorder_span,
        }
    }
}

impl TryFrom<ImpairmentJson> for Impairment {
    type Error = String;

    fn try_from(json: ImpairmentJson) -> Result<Self, String> {
        let time = |name: &str, seconds: f64| {
            let nanos = (seconds * 1e9).round();
            if (0.0..=LONGEST_DELAY as f64).contains(&nanos) {
                Ok(nanos as Nanos)
            } else {
                Err(format!("'{name}' is {seconds} s; it must be 0 to 10 s"))
            }
        };
        let impairment = Self {
            loss: json.loss,
            duplicate: json.duplicate,
            corrupt: json.corrupt,
            reorder: json.reorder,
            delay: time("delay", json.delay)?,
            jitter: time("jitter", json.jitter)?,
            reorder_span: time("reorder_span", json.reorder_span)?,
        };
        impairment.check()?;
        Ok(impairment)
    }
}

/// A copy of a frame that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrival {
    /// Its delay.
    pub delay: Nanos,
    /// Its flipped bits, if it is corrupted.
    pub burst: Option<Burst>,
}

impl Arrival {
    /// True if the copy arrives with its bits and without delay.
    pub fn is_untouched(&self) -> bool {
        *self == Self::default()
    }
}

/// The decision about one frame: the copies that arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    arrivals: [Arrival; COPIES],
    copies: usize,
}

impl Fate {
    /// The frame arrives once, as it is and without delay.
    pub const UNTOUCHED: Self = Self { copies: 1, ..Self::LOST };
    /// The frame never arrives.
    pub const LOST: Self =
        Self { arrivals: [Arrival { delay: 0, burst: None }; COPIES], copies: 0 };

    /// Each copy that arrives.
    pub fn arrivals(&self) -> &[Arrival] {
        &self.arrivals[..self.copies]
    }

    /// True if no copy arrives.
    pub fn is_lost(&self) -> bool {
        self.copies == 0
    }

    /// The number of copies that arrive beside the frame.
    pub fn duplicates(&self) -> u64 {
        self.copies.saturating_sub(1) as u64
    }

    /// The number of copies with flipped bits.
    pub fn corrupted(&self) -> u64 {
        self.arrivals().iter().filter(|arrival| arrival.burst.is_some()).count() as u64
    }
}

/// Decides what happens to the frames of one direction of a link. The same seed, stream,
/// impairments and order of frames give the same decisions in both drivers.
#[derive(Debug, Clone)]
pub struct Impairer {
    impairment: Impairment,
    /// Whether the impairment is none.
    idle: bool,
    random: Random,
}

impl Impairer {
    /// A link without impairments. Each direction of each link needs a `stream` of its own.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { impairment: Impairment::NONE, idle: true, random: Random::new(seed, stream) }
    }

    /// Sets the impairment of later frames. The sequence of random numbers continues.
    pub fn set(&mut self, impairment: Impairment) {
        self.impairment = impairment;
        self.idle = impairment.is_none();
    }

    /// The present impairment.
    pub fn impairment(&self) -> &Impairment {
        &self.impairment
    }

    /// True if frames pass unchanged, so that callers need not call [`Impairer::fate`].
    pub fn is_idle(&self) -> bool {
        self.idle
    }

    /// Decides about the next frame. Draws only the random numbers that the impairment needs.
    pub fn fate(&mut self) -> Fate {
        if self.idle {
            return Fate::UNTOUCHED;
        }
        if self.happens(self.impairment.loss) {
            return Fate::LOST;
        }
        let copies = if self.happens(self.impairment.duplicate) { 2 } else { 1 };
        let mut fate = Fate { copies, ..Fate::LOST };
        for arrival in &mut fate.arrivals[..copies] {
            let delay = self.lateness();
            let corrupted = self.happens(self.impairment.corrupt);
            let burst = corrupted.then(|| Burst::draw(&mut self.random));
            *arrival = Arrival { delay, burst };
        }
        fate
    }

    fn lateness(&mut self) -> Nanos {
        let Impairment { reorder, delay, jitter, reorder_span, .. } = self.impairment;
        let mut late = delay;
        if jitter > 0 {
            late += self.random.below(jitter + 1);
        }
        if self.happens(reorder) {
            late += 1 + self.random.below(reorder_span);
        }
        late
    }

    fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.random.unit() < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: usize = 100_000;

    fn fates(impairment: Impairment) -> Vec<Fate> {
        let mut impairer = Impairer::new(7, 3);
        impairer.set(impairment);
        (0..FRAMES).map(|_| impairer.fate()).collect()
    }

    fn delays(fate: &Fate) -> Vec<Nanos> {
        fate.arrivals().iter().map(|arrival| arrival.delay).collect()
    }

    /// Whether a count of FRAMES trials is within five standard deviations of its mean.
    fn likely(count: usize, probability: f64) -> bool {
        let (n, p) = (FRAMES as f64, probability);
        (count as f64 - n * p).abs() <= 5.0 * (n * p * (1.0 - p)).sqrt()
    }

    #[test]
    fn each_impairment_has_its_probability_and_excludes_others() {
        let lost = fates(Impairment { loss: 0.03, ..Impairment::NONE });
        assert!(likely(lost.iter().filter(|fate| fate.is_lost()).count(), 0.03));
        assert!(lost.iter().all(|fate| fate.is_lost() || *fate == Fate::UNTOUCHED));

        let twice = fates(Impairment { duplicate: 0.2, ..Impairment::NONE });
        assert!(likely(twice.iter().filter(|fate| delays(fate) == [0, 0]).count(), 0.2));
        assert!(twice.iter().all(|fate| matches!(delays(fate)[..], [0] | [0, 0])));

        let late = fates(Impairment { reorder: 0.1, reorder_span: 50, ..Impairment::NONE });
        let held = late.iter().filter(|fate| delays(fate)[0] > 0).count();
        assert!(likely(held, 0.1));
        assert!(late.iter().all(|fate| delays(fate).len() == 1 && delays(fate)[0] <= 50));
        assert!(late.iter().any(|fate| delays(fate)[0] == 50));
    }

    #[test]
    fn each_copy_is_corrupted_with_its_probability() {
        let fates = fates(Impairment { corrupt: 0.1, duplicate: 0.5, ..Impairment::NONE });
        let twice: Vec<_> = fates.iter().filter(|fate| fate.arrivals().len() == 2).collect();
        let both = twice.iter().filter(|fate| fate.corrupted() == 2).count();
        let first = fates.iter().filter(|fate| fate.arrivals()[0].burst.is_some()).count();
        assert!(likely(first, 0.1), "{first}");
        assert!(likely(both, 0.5 * 0.01), "{both}");
        assert!(fates.iter().all(|fate| !fate.is_lost() && delays(fate)[0] == 0));
    }

    #[test]
    fn jitter_is_added_to_the_delay() {
        let fates = fates(Impairment { delay: 1000, jitter: 9, ..Impairment::NONE });
        for late in 1000..=1009 {
            let count = fates.iter().filter(|fate| delays(fate) == [late]).count();
            assert!(likely(count, 0.1), "{late} ns: {count}");
        }
    }

    #[test]
    fn copies_of_a_frame_have_independent_delays() {
        let fates = fates(Impairment { duplicate: 1.0, jitter: 99, ..Impairment::NONE });
        let alike = fates.iter().filter(|fate| delays(fate)[0] == delays(fate)[1]).count();
        assert!(likely(alike, 0.01));
    }

    #[test]
    fn decisions_depend_on_seed_and_stream_only() {
        let impairment = Impairment {
            loss: 0.3,
            duplicate: 0.3,
            reorder: 0.3,
            jitter: 1000,
            ..Impairment::NONE
        };
        let take = |seed, stream| {
            let mut impairer = Impairer::new(seed, stream);
            impairer.set(impairment);
            (0..100).map(|_| impairer.fate()).collect::<Vec<_>>()
        };
        assert_eq!(take(1, 2), take(1, 2));
        assert_ne!(take(1, 2), take(1, 3));
        assert_ne!(take(1, 2), take(2, 2));
    }

    #[test]
    fn a_cut_link_loses_all_frames_and_a_restored_one_none() {
        let mut impairer = Impairer::new(1, 1);
        assert_eq!(impairer.fate(), Fate::UNTOUCHED);
        impairer.set(Impairment { loss: 1.0, ..Impairment::NONE });
        assert!((0..1000).all(|_| impairer.fate().is_lost()));
        impairer.set(Impairment::NONE);
        assert!(impairer.is_idle() && impairer.fate() == Fate::UNTOUCHED);
    }

    #[test]
    fn json_times_are_in_seconds_and_fields_are_optional() {
        let text = r#"{"loss": 0.5, "delay": 0.0005, "jitter": 1e-6}"#;
        let expected = Impairment { loss: 0.5, delay: 500_000, jitter: 1000, ..Impairment::NONE };
        assert_eq!(Impairment::parse(text), Ok(expected));
        assert!(Impairment::parse("{}").unwrap().is_none());
    }

    #[test]
    fn invalid_values_are_explained() {
        for (text, names) in [
            (r#"{"loss": 1.5}"#, "'loss' is 1.5"),
            (r#"{"duplicate": -0.1}"#, "'duplicate' is -0.1"),
            (r#"{"corrupt": 2}"#, "'corrupt' is 2"),
            (r#"{"delay": 11}"#, "'delay' is 11 s"),
            (r#"{"jitter": -1}"#, "'jitter' is -1 s"),
            (r#"{"reorder": 0.1, "reorder_span": 0}"#, "'reorder_span'"),
            (r#"{"lose": 0.1}"#, "lose"),
        ] {
            let error = Impairment::parse(text).unwrap_err();
            assert!(error.contains(names), "{error}");
        }
        let nan = Impairment { loss: f64::NAN, ..Impairment::NONE };
        assert!(nan.check().unwrap_err().contains("'loss'"));
    }
}
