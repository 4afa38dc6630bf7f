import { useEffect, useRef } from 'preact/hooks';
import { type ListView, listAddress, ORDERS, SEARCH_MAX, viewOf } from '#pages/instance-list-view';
import { here, navigate } from '#pages/router';
import { SelectField } from '#view/field';

/** How long after the last key a search begins, in milliseconds. Chosen: between two keys is less. */
const PAUSE_MS = 250;

/** The view that the address has by then, changed, from its first page. */
const changed = (change: Partial<ListView>): string =>
  listAddress({ ...viewOf(here.value.query), ...change, offset: 0 });

/** Search and order of the list; what they are set to becomes the address. */
export function InstanceFilters({ view: { search, order } }: { readonly view: ListView }) {
  const input = useRef<HTMLInputElement>(null);
  const pause = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const find = (): void => {
    clearTimeout(pause.current);
    pause.current = undefined;
    // What was typed on the way is nothing that one would go back to.
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
