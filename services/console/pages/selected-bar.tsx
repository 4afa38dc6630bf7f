import type { ListedInstance } from '#pages/instance-answers';
import { Link } from '#view/link';

/** Where two instances are compared. */
const compareAddress = (first: string, second: string): string =>
  `/instances/compare?${new URLSearchParams({ a: first, b: second })}`;

/** What is selected, and the way to compare it; nothing as long as nothing is selected. */
export function SelectedBar({
  selected,
  onClear,
}: {
  readonly selected: readonly ListedInstance[];
  readonly onClear: () => void;
}) {
  const [first, second] = selected;
  return (
    <div class={first === undefined ? '' : 'selected-bar'} role="status">
      {first === undefined ? null : (
        <>
          <p>
            <strong>{selected.map(({ name }) => name).join(' and ')}</strong>
            {second === undefined ? ' selected. Select one more to compare.' : ' selected.'}
          </p>
          {second === undefined ? null : (
            <Link to={compareAddress(first.id, second.id)} class="button is-main">
              Compare
            </Link>
          )}
          <button type="button" onClick={onClear}>
            Clear
          </button>
        </>
      )}
    </div>
  );
}
