import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AccountEvent, FleetCounts, ListedInstance } from '#clients/typescript/src/models';
import { counted, liveCounts, rowAfter } from '#pages/fleet/live-counts';

const EMPTY: FleetCounts = {
  total: 1,
  stress_states: { LOW: 1, MED: 0, HIGH: 0, OVER: 0 },
  drift_levels: { D0: 1, D1: 0, D2: 0, D3: 0 },
  dominant_modes: {
    ...{ Perception: 0, Exploration: 0, Order: 1, Assertion: 0 },
    ...{ Connection: 0, Identity: 0, Stress_Response: 0, None: 0 },
  },
  unknown: 0,
  tags: [],
  different_tags: 0,
  recent_events: [],
  as_of: { time: '2026-01-15T12:00:00.000Z', events_cursor: 'c' },
};

const eventOf = (more: Partial<AccountEvent>): AccountEvent => ({
  ...{ id: 'evt_1', type: 'stress_changed', instance_id: 'inst_0000000000000001', cycle: 3 },
  ...{ occurred_at: '2026-01-15T12:00:01.000Z', stress_state: 'LOW', drift_level: 'D0' },
  ...more,
});

const live = suite('live counts of a fleet');

live('move an instance between the values that an event names', () => {
  const after = [
    eventOf({ from: 'LOW', to: 'HIGH' }),
    eventOf({ type: 'drift_changed', from: 'D0', to: 'D2' }),
    eventOf({ type: 'mode_changed', from: 'Order', to: 'None' }),
  ].reduce(counted, liveCounts(EMPTY));
  assert.equal(after.counts.stress_states, { LOW: 0, MED: 0, HIGH: 1, OVER: 0 });
  assert.equal(after.counts.drift_levels, { D0: 0, D1: 0, D2: 1, D3: 0 });
  assert.equal([after.counts.dominant_modes.Order, after.counts.dominant_modes.None], [0, 1]);
  assert.is(after.isDue, false, 'nothing is unknown');
  assert.equal(
    after.events.map(({ type }) => type),
    ['drift_changed', 'stress_changed'],
    'frequent types are not listed',
  );
});

live('are due after an event that does not say what it changes', () => {
  for (const type of ['created', 'reset', 'deleted'] as const) {
    assert.ok(counted(liveCounts(EMPTY), eventOf({ type })).isDue, type);
  }
  const { counts } = counted(liveCounts(EMPTY), eventOf({ type: 'created' }));
  assert.equal([counts.total, counts.stress_states.LOW], [2, 2]);
});

live('keep a bounded number of events, and never count below zero', () => {
  let now = liveCounts(EMPTY);
  for (let count = 0; count < 50; count += 1) {
    now = counted(now, eventOf({ id: `evt_${count}`, from: 'MED', to: 'MED' }));
  }
  assert.is(now.events.length, 20);
  assert.is(now.events[0]?.id, 'evt_49');
  assert.is(counted(now, eventOf({ from: 'HIGH', to: 'LOW' })).counts.stress_states.HIGH, 0);
});

live('change a row like its instance', () => {
  const row: ListedInstance = {
    ...{ id: 'inst_0000000000000001', name: 'Ada', description: '' },
    ...{ created_at: '2026-01-15T12:00:00.000Z', cycle_count: 2, energy_level: 0.8 },
  };
  const stressed = rowAfter(row, eventOf({ stress_state: 'HIGH', from: 'LOW', to: 'HIGH' }));
  assert.equal(
    [stressed.stress_state, stressed.cycle_count, stressed.changed_at],
    ['HIGH', 3, '2026-01-15T12:00:01.000Z'],
  );
  const led = rowAfter(row, eventOf({ type: 'mode_changed', from: 'None', to: 'Order' }));
  assert.equal([led.dominant_mode, led.changed_at], ['Order', undefined]);
});

live.run();
