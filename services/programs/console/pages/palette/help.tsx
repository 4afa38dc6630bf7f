import { allowedShortcuts, areShortcutsOn, turnShortcuts } from '#pages/shell/shortcuts';
import { Dialog } from '#view/parts/dialog';

/** Dialog with all keyboard shortcuts, and a switch for keys without a modifier. */
export function ShortcutHelp({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="shortcuts">
        <Row keys={['Ctrl K', '⌘ K']} between="or" text="Open the command palette" />
        {allowedShortcuts().map(({ keys, text }) => (
          <Row key={text} {...{ keys, text }} between="then" />
        ))}
      </dl>
      <label class="shortcut-switch">
        <input
          type="checkbox"
          checked={areShortcutsOn.value}
          onChange={({ currentTarget }) => turnShortcuts(currentTarget.checked)}
        />
        Use single keys as shortcuts in this browser
      </label>
      <div class="dialog-buttons">
        <button type="button" class="is-main" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

function Row({
  keys,
  between,
  text,
}: {
  readonly keys: readonly string[];
  readonly between: string;
  readonly text: string;
}) {
  return (
    <div>
      <dt>
        {keys.map((key, index) => (
          <span key={key}>
            {index === 0 ? null : <span class="quiet"> {between} </span>}
            <kbd>{key}</kbd>
          </span>
        ))}
      </dt>
      <dd>{text}</dd>
    </div>
  );
}
