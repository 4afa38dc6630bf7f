import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type FleetView,
  fleetAddress,
  isFiltered,
  ORDERS,
  queryOf,
  tagToggled,
  toggled,
  viewOf,
} from '#pages/fleet/view';

const EVERYTHING: FleetView = {
  search: 'a & b?',
  stress: ['HIGH', 'OVER'],
  drift: ['D3'],
  dominant_mode: ['Stress_Response', 'None'],
  tags: [
    ['team', 'docs, tests'],
    ['a=b&c', ''],
  ],
  order: 'changed_at desc',
};

const view = suite('the address of the fleet');

view('is short by default', () => {
  assert.is(fleetAddress(viewOf('')), '/fleet');
  assert.is(queryOf(viewOf('')).toString(), 'sort=created_at&order=desc');
  assert.is(isFiltered(viewOf('?sort=name&order=asc')), false);
});

view('contains search, filters, tags and order, and restores them', () => {
  for (const [order] of ORDERS) {
    const one = { ...EVERYTHING, order };
    const address = new URL(fleetAddress(one), 'http://localhost');
    assert.equal(viewOf(address.search), one, address.search);
  }
});

view('contains nothing that the console would refuse', () => {
  const odd =
    `?search=${'x'.repeat(80)}&sort=energy&order=up&stress=HIGH,GREAT&drift=&dominant_mode=none` +
    '&tag.=no-key&tag.a=1&tag.b=2&tag.c=3&tag.d=4&tag.e=5';
  assert.equal(Object.fromEntries(queryOf(viewOf(odd))), {
    ...{ search: 'x'.repeat(64), stress: 'HIGH', sort: 'created_at', order: 'desc' },
    ...{ 'tag.a': '1', 'tag.b': '2', 'tag.c': '3', 'tag.d': '4' },
  });
  assert.is(viewOf('?search=+').search, '');
});

view('adds a value and removes the same value', () => {
  const once = toggled(viewOf(''), 'drift', 'D2');
  assert.equal(once.drift, ['D2']);
  assert.equal(toggled(once, 'drift', 'D2'), viewOf(''));
  const docs = tagToggled(viewOf(''), ['team', 'docs']);
  assert.equal(tagToggled(docs, ['team', 'ops']).tags, [['team', 'ops']], 'one value per key');
  assert.equal(tagToggled(docs, ['team', 'docs']), viewOf(''));
});

view.run();
