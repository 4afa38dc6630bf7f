import { useEffect, useRef } from 'preact/hooks';
import {
  FILTERS,
  type FleetView,
  fleetAddress,
  isFiltered,
  ORDERS,
  SEARCH_MAX,
  TAGS_MAX,
  tagToggled,
  toggled,
  viewOf,
} from '#pages/fleet/view';
import { valueText } from '#view/fleet/counts';
import { SelectField } from '#view/parts/field';
import { here, Link, navigate } from '#view/shell/router';

/**
 * Pause after the last key press before a search starts, in milliseconds. Longer than a typical
 * pause between key presses.
 */
const PAUSE_MS = 250;

/** Address of the present view with a change. */
const changed = (change: Partial<FleetView>): string =>
  fleetAddress({ ...viewOf(here.value.query), ...change });

/** Search, order and present filters. Changes update the address. */
export function FleetFilters({ view }: { readonly view: FleetView }) {
  const choose = ({ target }: Event): void => {
    if (!(target instanceof HTMLSelectElement)) return;
    const next = ORDERS.find(([each]) => each === target.value);
    if (next !== undefined) navigate(changed({ order: next[0] }));
  };
  return (
    <search>
      <div class="fleet-filters">
        <form class="list-filters" onSubmit={(event) => event.preventDefault()} onChange={choose}>
          <Search search={view.search} />
          <SelectField {...{ name: 'order', label: 'Order', choices: ORDERS, value: view.order }} />
        </form>
        <TagFilter view={view} />
      </div>
      <Present view={view} />
    </search>
  );
}

function Search({ search }: { readonly search: string }) {
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
  return (
    <div class="field">
      <label for="search">Search</label>
      <input
        {...{ id: 'search', type: 'search', maxLength: SEARCH_MAX, autocomplete: 'off' }}
        ref={input}
        defaultValue={search}
        placeholder="A part of the name, or of the id"
        onInput={typed}
        onKeyDown={(event) => {
          if (event.key === 'Enter') find();
        }}
      />
    </div>
  );
}

/** Adds a wanted tag that is not among the most frequent tags. */
function TagFilter({ view }: { readonly view: FleetView }) {
  if (view.tags.length >= TAGS_MAX) return null;
  const add = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const given = new FormData(form);
    const key = String(given.get('key') ?? '').trim();
    if (key === '') return;
    navigate(fleetAddress(tagToggled(view, [key, String(given.get('value') ?? '')])));
    form.reset();
  };
  return (
    <form class="tag-filter" onSubmit={add}>
      <div class="field">
        <label for="tag-key">Tag</label>
        <input id="tag-key" name="key" placeholder="team" maxLength={64} autocomplete="off" />
      </div>
      <div class="field">
        <label for="tag-value">Value</label>
        <input id="tag-value" name="value" placeholder="docs" maxLength={256} autocomplete="off" />
      </div>
      <button type="submit">Filter</button>
    </form>
  );
}

/** Present filters, each with a link that removes the filter. */
function Present({ view }: { readonly view: FleetView }) {
  if (!isFiltered(view)) return null;
  return (
    <ul class="tags" aria-label="Present filters">
      {FILTERS.flatMap(([name, title]) =>
        view[name].map((value) => (
          <li key={`${name} ${value}`}>
            <Link to={fleetAddress(toggled(view, name, value))} class="tag is-on">
              {title}: {valueText(value)} <Remove />
            </Link>
          </li>
        )),
      )}
      {view.tags.map((tag) => (
        <li key={JSON.stringify(tag)}>
          <Link to={fleetAddress(tagToggled(view, tag))} class="tag is-on">
            {tag[0]}: {tag[1]} <Remove />
          </Link>
        </li>
      ))}
      <li>
        <Link to={fleetAddress({ ...viewOf(''), order: view.order })}>Clear all</Link>
      </li>
    </ul>
  );
}

function Remove() {
  return (
    <>
      <span aria-hidden="true">×</span>
      <span class="unseen">Remove this filter</span>
    </>
  );
}
