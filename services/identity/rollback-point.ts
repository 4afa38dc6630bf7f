import { WITHIN_BAND } from '#identity/drift';
import { DRIFT_LIMIT } from '#identity/learning';

/** What a state must keep to, to become a rollback point: the median of the band, and some reserve. */
const BAND_MAX = 6.3458;
const EVIDENCE_MAX = DRIFT_LIMIT / 2;
const STRESS_LEVEL_MAX = 1;
const ENERGY_MIN = 0.2;
const STABILITY_MIN = 0.6;

/**
 * Whether the state after a cycle is one to come back to: its drift level, band statistic and largest
 * evidence as the cycle found them, and where stress, energy and stability are. Source: model 3.5.
 */
export function isRollbackPoint(
  driftLevel: number,
  bandStatistic: number,
  evidence: number,
  stressLevel: number,
  energy: number,
  stability: number,
): boolean {
  return (
    driftLevel === WITHIN_BAND &&
    bandStatistic <= BAND_MAX &&
    evidence < EVIDENCE_MAX &&
    stressLevel <= STRESS_LEVEL_MAX &&
    energy >= ENERGY_MIN &&
    stability >= STABILITY_MIN
  );
}
