import { METHODS } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DROP_REASONS } from '#bus/signed-bus';
import { SEAL_REASONS } from '#cluster/failure-detector';
import { MOVE_REASONS } from '#cluster/shard-controller';
import { countedMethod } from '#edge/serve/reply';
import { REPAIR_REASONS } from '#engine/directory/scrub';
import { REASONS } from '#errors/error-reasons';
import { WIRE_ROLES } from '#grpc/tls';
import { DRIFT_LEVELS } from '#identity/drift';
import { RETRY_REASONS } from '#routing/retry-policy';
import { METRICS } from '#telemetry/metrics';
import { documentedRows, documentedValues, isDocumented } from '#test/telemetry/documented-labels';

/** Closed value sets in the code, by metric and label. */
const SETS: readonly (readonly [metric: string, label: string, values: readonly string[]])[] = [
  ['http_server_request_duration_seconds', 'http_request_method', METHODS.map(countedMethod)],
  ['rpc_server_refused_total', 'role', [...WIRE_ROLES, 'none']],
  ['identity_drift_events_total', 'level', DRIFT_LEVELS.filter((level) => level !== 'D0')],
  ['bus_dropped_total', 'reason', DROP_REASONS],
  ['index_repairs_total', 'reason', REPAIR_REASONS],
  ['shard_moves_total', 'reason', MOVE_REASONS],
  ['shard_seals_total', 'reason', SEAL_REASONS],
  [
    'edge_retries_total',
    'reason',
    // The other reasons belong to the API.
    RETRY_REASONS.filter((reason) => !Object.hasOwn(REASONS, reason)),
  ],
];

const documented = suite('docs/metrics.md, "Label values"');

documented('has a row for every label of the catalog, and no others', () => {
  const labels = Object.values(METRICS).flatMap((metric): readonly string[] => metric.labels);
  assert.equal([...documentedRows().keys()].sort(), [...new Set(labels)].sort());
});

for (const [metric, label, values] of SETS) {
  documented(`lists the values of ${label} of ${metric} in the code`, () => {
    assert.equal(documentedValues(metric, label)?.sort(), [...new Set(values)].sort());
  });
}

documented('permits label values separately for each metric', () => {
  assert.ok(isDocumented('limiter_lost_cycles_total', 'cause', 'crash'));
  assert.not(isDocumented('edge_slow_readers_ended_total', 'cause', 'crash'));
  assert.not(isDocumented('bus_dropped_total', 'reason', 'overloaded'));
  assert.ok(isDocumented('edge_fail_closed_total', 'reason', 'overloaded'));
  assert.not(isDocumented('bus_dropped_total', 'colour', 'red'));
});

documented.run();
