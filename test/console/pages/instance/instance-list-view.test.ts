import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { listAddress, ORDERS, PAGE_SIZES, queryOf, viewOf } from '#pages/fleet/view';

const view = suite('the address of the instance list');

view('shows the newest 20 by default', () => {
  const query = 'sort=created_at&order=desc&limit=20&offset=0';
  assert.is(queryOf(viewOf('')).toString(), query);
  assert.is(listAddress(viewOf('')), '/instances');
});

view('contains sorting, search and page, and restores them', () => {
  for (const [order] of ORDERS) {
    for (const limit of PAGE_SIZES) {
      const one = { search: 'a & b?', order, limit, offset: 40 };
      const address = new URL(listAddress(one), 'http://localhost');
      assert.equal(viewOf(address.search), one, address.search);
    }
  }
});

view('contains nothing that the console would refuse', () => {
  const odd = `?search=${'x'.repeat(80)}&sort=energy&order=up&limit=7&offset=-3`;
  const asked = Object.fromEntries(queryOf(viewOf(odd)));
  assert.equal(asked, {
    ...{ search: 'x'.repeat(64), sort: 'created_at', order: 'desc', limit: '20', offset: '0' },
  });
  for (const offset of ['1.5', '1e99', 'NaN', '']) {
    assert.is(viewOf(`?offset=${offset}`).offset, 0, offset);
  }
  assert.is(viewOf('?search=+').search, '');
});

view.run();
