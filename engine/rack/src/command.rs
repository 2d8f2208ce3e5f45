//! Commands to the client node, as JSON.

use netkv_workload::Arrivals;
use serde::{Deserialize, Serialize};

use crate::workload::{ShiftConfig, closed_loop, open_loop, throttled};

/// A command to the running load generator.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Command {
    /// Begin a phase.
    Phase {
        /// The phase.
        name: PhaseName,
    },
    /// Generate an open-loop load from now on.
    Rate {
        /// Operations per second.
        value: f64,
    },
    /// Generate a closed-loop load from now on.
    Outstanding {
        /// Outstanding operations.
        value: u32,
    },
    /// Generate a throttled closed-loop load from now on.
    Throttle {
        /// Threads, each with one operation outstanding.
        threads: u32,
        /// Operations per second of all threads, at most.
        rate: f64,
    },
    /// Shift popularity now.
    Shift(ShiftConfig),
    /// From now on only these servers get requests.
    Turn {
        /// One of them.
        first: u16,
        /// The other one, or the same.
        other: u16,
    },
    /// Return the most popular keys.
    Hottest {
        /// Number of keys.
        n: u64,
    },
    /// Behave as if the client process crashed and another one started at once.
    Crash {},
}

/// A phase of the load generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseName {
    /// Load that does not count.
    Warmup,
    /// Load that counts.
    Measure,
    /// No new operations; outstanding ones complete or are lost.
    Drain,
    /// Every written key is read back.
    Verify,
    /// The clients deregister at the controller, if the scheme has a registration.
    End,
    /// No load.
    Idle,
}

impl Command {
    /// Reads a command.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| {
            format!(
                "This is not a command of the client: {error}. Commands are \
                 {{\"do\": \"phase\" | \"rate\" | \"outstanding\" | \"throttle\" | \"shift\" | \
                 \"turn\" | \"hottest\" | \"crash\", ...}}."
            )
        })
    }

    /// The arrivals that [`Command::Rate`], [`Command::Outstanding`] and [`Command::Throttle`] set.
    pub fn arrivals(&self) -> Result<Arrivals, String> {
        match *self {
            Self::Rate { value } => open_loop(value),
            Self::Outstanding { value } => closed_loop(value),
            Self::Throttle { threads, rate } => throttled(threads, rate),
            _ => Err("This command does not change arrivals.".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netkv_workload::Shift;

    #[test]
    fn every_command_is_parsed() {
        let phase = Command::parse(r#"{"do": "phase", "name": "measure"}"#).unwrap();
        assert_eq!(phase, Command::Phase { name: PhaseName::Measure });
        let rate = Command::parse(r#"{"do": "rate", "value": 1000}"#).unwrap();
        assert_eq!(rate.arrivals(), Ok(Arrivals::Poisson { rate: 1000.0 }));
        let outstanding = Command::parse(r#"{"do": "outstanding", "value": 8}"#).unwrap();
        assert_eq!(outstanding.arrivals(), Ok(Arrivals::Closed { outstanding: 8 }));
        let throttle = r#"{"do": "throttle", "threads": 8, "rate": 100}"#;
        let throttled = Arrivals::Throttled { threads: 8, rate: 100.0 };
        assert_eq!(Command::parse(throttle).unwrap().arrivals(), Ok(throttled));
        let throttle = Command::Throttle { threads: 8, rate: 0.0 };
        assert!(throttle.arrivals().unwrap_err().contains("above 0"));
        let text = r#"{"do": "shift", "kind": "hot-in", "keys": 200, "top": 10000}"#;
        let Command::Shift(shift) = Command::parse(text).unwrap() else { panic!() };
        assert_eq!(Shift::from(shift), Shift::HotIn { keys: 200 });
        let hottest = Command::parse(r#"{"do": "hottest", "n": 5}"#).unwrap();
        assert_eq!(hottest, Command::Hottest { n: 5 });
        let turn = Command::parse(r#"{"do": "turn", "first": 3, "other": 5}"#).unwrap();
        assert_eq!(turn, Command::Turn { first: 3, other: 5 });
        assert_eq!(Command::parse(r#"{"do": "crash"}"#).unwrap(), Command::Crash {});
    }

    #[test]
    fn a_wrong_command_is_explained() {
        let error = Command::parse(r#"{"do": "pahse", "name": "measure"}"#).unwrap_err();
        assert!(error.contains("pahse") && error.contains("hottest"), "{error}");
        let error = Command::parse(r#"{"do": "phase", "name": "begin"}"#).unwrap_err();
        assert!(error.contains("begin") && error.contains("warmup"), "{error}");
        let rate = Command::Rate { value: -1.0 };
        assert!(rate.arrivals().unwrap_err().contains("-1"));
    }
}
