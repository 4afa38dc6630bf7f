import { useEffect, useRef, useState } from 'preact/hooks';
import type { InstanceList, ListedInstance } from '#pages/instances/answers';
import { instanceApi } from '#pages/instances/api';
import {
  type ListView,
  listAddress,
  ORDERS,
  PAGE_SIZES,
  queryOf,
  SEARCH_MAX,
  viewOf,
} from '#pages/instances/list-view';
import { useLoaded } from '#pages/shell/loaded';
import { may } from '#pages/shell/session';
import { InstanceTable } from '#view/instances/table';
import { SelectField } from '#view/parts/field';
import { Empty, WhenLoaded } from '#view/parts/notice';
import { Pager, SelectedBar } from '#view/parts/pager';
import { here, Link, navigate, Page } from '#view/shell/router';

/**
 * List of the account's instances, with search, order and pages. Two instances can be selected for
 * a comparison.
 */
export function InstancesPage({ query }: { readonly query: string }) {
  const view = viewOf(query);
  const [selected, setSelected] = useState<readonly ListedInstance[]>([]);
  const page = useLoaded(async () => ({ view, ...(await instanceApi.list(queryOf(view))) }), query);
  useTopOf(view.offset);
  return (
    <Page
      title="Instances"
      lead="Each instance is a personality that its observations change."
      actions={
        may('instances.write') ? (
          <Link to="/instances/new" class="button is-main">
            Create an instance
          </Link>
        ) : undefined
      }
    >
      <InstanceFilters view={view} />
      <WhenLoaded loading={page} what="instances">
        {(shown) =>
          shown.data.length === 0 ? (
            <NoRows of={shown} />
          ) : (
            // The previous page stays visible until the next is loaded.
            <div class="list" aria-busy={listAddress(shown.view) !== listAddress(view)}>
              <InstanceTable rows={shown.data} selected={selected} onSelect={setSelected} />
              <Paging of={shown} />
            </div>
          )
        }
      </WhenLoaded>
      <SelectedBar selected={selected} onClear={() => setSelected([])} />
    </Page>
  );
}

type Shown = InstanceList & { readonly view: ListView };

/** Scrolls to the top when the page of the list changes. */
function useTopOf(offset: number): void {
  const before = useRef(offset);
  useEffect(() => {
    if (before.current !== offset) scrollTo({ top: 0 });
    before.current = offset;
  }, [offset]);
}

function Paging({ of: { view, data, pagination } }: { readonly of: Shown }) {
  const choose = ({ target }: Event): void => {
    const limit = PAGE_SIZES.find((each) => String(each) === (target as HTMLSelectElement).value);
    if (limit !== undefined) navigate(listAddress({ ...view, limit, offset: 0 }));
  };
  const choices = PAGE_SIZES.map((each) => [String(each), String(each)] as const);
  return (
    <div class="list-end">
      <div onChange={choose}>
        <SelectField
          {...{ name: 'limit', label: 'Rows a page', choices, value: String(view.limit) }}
        />
      </div>
      <Pager
        {...{ offset: view.offset, limit: view.limit, shown: data.length }}
        {...{ total: pagination.total, what: 'instances' }}
        addressOf={(offset) => listAddress({ ...view, offset })}
      />
    </div>
  );
}

function NoRows({ of: { view, pagination } }: { readonly of: Shown }) {
  if (pagination.total > 0) {
    return (
      <Empty title="This page of the list is empty">
        <p>
          The list is shorter now.{' '}
          <Link to={listAddress({ ...view, offset: 0 })}>Go to its first page</Link>
        </p>
      </Empty>
    );
  }
  if (view.search !== '') {
    return (
      <Empty title={`No instance matches “${view.search}”`}>
        <p>
          A search finds a part of the name, or a whole id.{' '}
          <Link to={listAddress({ ...view, search: '', offset: 0 })}>Show all instances</Link>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="There are no instances yet">
      {may('instances.write') ? (
        <p>
          <Link to="/instances/new">Create one</Link> here, from a persona or the personality test,
          or by the API.
        </p>
      ) : (
        <p>Owners and developers of the account can create instances.</p>
      )}
    </Empty>
  );
}

/**
 * Pause after the last key press before a search starts, in milliseconds. Longer than a typical
 * pause between key presses.
 */
const PAUSE_MS = 250;

/** Returns the address of the current view with a change. The new view starts at the first page. */
const changed = (change: Partial<ListView>): string =>
  listAddress({ ...viewOf(here.value.query), ...change, offset: 0 });

/** List search and order. Changes update the address. */
function InstanceFilters({ view: { search, order } }: { readonly view: ListView }) {
  const input = useRef<HTMLInputElement>(null);
  const pause = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const find = (): void => {
    clearTimeout(pause.current);
    pause.current = undefined;
    // Replaces the history entry, so that the back button skips half-typed text.
    navigate(changed({ search: input.current?.value.trim() ?? '' }), 'replace');
  };
  const typed = (): void => {
    clearTimeout(pause.current);
    pause.current = setTimeout(find, PAUSE_MS);
  };
  useEffect(() => () => clearTimeout(pause.current), []);
  useEffect(() => {
    const shown = input.current;
    const isTyping = pause.current !== undefined;
    if (shown !== null && !isTyping && shown.value.trim() !== search) shown.value = search;
  }, [search]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    find();
  };
  const choose = ({ target }: Event): void => {
    if (!(target instanceof HTMLSelectElement)) return;
    const next = ORDERS.find(([each]) => each === target.value);
    if (next !== undefined) navigate(changed({ order: next[0] }));
  };
  return (
    <search>
      <form class="list-filters" onSubmit={submit} onChange={choose}>
        <div class="field">
          <label for="search">Search</label>
          <input
            {...{ id: 'search', type: 'search', maxLength: SEARCH_MAX, autocomplete: 'off' }}
            ref={input}
            defaultValue={search}
            placeholder="A part of the name, or a whole id"
            onInput={typed}
          />
        </div>
        <SelectField {...{ name: 'order', label: 'Order', choices: ORDERS, value: order }} />
      </form>
    </search>
  );
}
