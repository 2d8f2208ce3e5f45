//! Two-rate three-colour meters (RFC 2698, colour-blind).

use netkv_ir::CounterUnit;

/// Rates per second and burst sizes, in the unit of the meter (bytes or packets).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct MeterConfig {
    /// Committed information rate.
    pub cir: u64,
    /// Committed burst size.
    pub cburst: u64,
    /// Peak information rate.
    pub pir: u64,
    /// Peak burst size.
    pub pburst: u64,
}

/// Number of parts of a token. Buckets count rate times nanoseconds, which are billionths.
const SCALE: u128 = 1_000_000_000;

/// A meter cell. Without configuration, every packet is green.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter {
    config: Option<MeterConfig>,
    committed: u128,
    peak: u128,
    last_ns: Option<u64>,
}

impl Meter {
    pub(crate) fn config(&self) -> Option<MeterConfig> {
        self.config
    }

    /// Sets the configuration and fills the token buckets. `None` removes the configuration.
    pub(crate) fn configure(&mut self, config: Option<MeterConfig>) {
        *self = Self { config, ..Self::default() };
        if let Some(config) = config {
            self.committed = u128::from(config.cburst) * SCALE;
            self.peak = u128::from(config.pburst) * SCALE;
        }
    }

    /// The colour of a packet: 0 green, 1 yellow, 2 red.
    pub(crate) fn execute(&mut self, unit: CounterUnit, bytes: u32, now_ns: u64) -> u64 {
        let Some(config) = self.config else { return 0 };
        let elapsed = u128::from(now_ns.saturating_sub(self.last_ns.unwrap_or(now_ns)));
        self.last_ns = Some(now_ns.max(self.last_ns.unwrap_or(0)));
        let fill = |tokens: u128, rate: u64, burst: u64| {
            (tokens + u128::from(rate) * elapsed).min(u128::from(burst) * SCALE)
        };
        self.committed = fill(self.committed, config.cir, config.cburst);
        self.peak = fill(self.peak, config.pir, config.pburst);
        let need = if unit == CounterUnit::Packets { SCALE } else { u128::from(bytes) * SCALE };
        if self.peak < need {
            return 2;
        }
        self.peak -= need;
        if self.committed < need {
            return 1;
        }
        self.committed -= need;
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_above_the_rates_is_yellow_or_red() {
        let mut meter = Meter::default();
        assert_eq!(meter.execute(CounterUnit::Packets, 100, 0), 0, "unconfigured is green");
        meter.configure(Some(MeterConfig { cir: 10, cburst: 2, pir: 20, pburst: 4 }));
        let mut at = |now| meter.execute(CounterUnit::Packets, 100, now);
        assert_eq!([at(0), at(0), at(0), at(0), at(0)], [0, 0, 1, 1, 2]);
        // In 100 ms, the buckets gain one committed and two peak tokens.
        assert_eq!([at(100_000_000), at(100_000_000), at(100_000_000)], [0, 1, 2]);
    }
}
