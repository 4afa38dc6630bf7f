import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Me } from '#console/answers';
import { followKeys, panel } from '#pages/shell/shortcuts';
import { navigate } from '#view/shell/router';
import { showMessage } from '#view/shell/toasts';

type KeyboardProps = {
  readonly me: Me;
  /** Pages of the navigation: address and name. */
  readonly pages: readonly (readonly [path: string, text: string])[];
};

/** Panels of the keyboard, in a script of their own. */
type Panels = {
  readonly Palette: FunctionComponent<KeyboardProps & { readonly onClose: () => void }>;
  readonly ShortcutHelp: FunctionComponent<{ readonly onClose: () => void }>;
};

/** Field of the fleet's search. */
const SEARCH_ID = 'search';

/** Keyboard shortcuts, command palette and help. The panels are loaded when they first open. */
export function Keyboard({ me, pages }: KeyboardProps) {
  const [panels, setPanels] = useState<Panels | undefined>();
  const open = panel.value;
  useEffect(
    () =>
      followKeys((act) => {
        if ('to' in act) navigate(act.to);
        else if ('panel' in act) panel.value = act.panel;
        else search();
      }),
    [],
  );
  useEffect(() => {
    if (open === undefined || panels !== undefined) return;
    loadPanels().then(setPanels, () => {
      panel.value = undefined;
      showMessage('The command palette could not be loaded. Load the page again.');
    });
  }, [open]);
  const close = (): void => {
    panel.value = undefined;
  };
  if (panels === undefined) return null;
  if (open === 'palette') return <panels.Palette {...{ me, pages }} onClose={close} />;
  return open === 'help' ? <panels.ShortcutHelp onClose={close} /> : null;
}

async function loadPanels(): Promise<Panels> {
  const [{ Palette }, { ShortcutHelp }] = await Promise.all([
    import('#view/palette/palette'),
    import('#view/palette/help'),
  ]);
  return { Palette, ShortcutHelp };
}

/** Focuses the search of the page. Other pages open the palette, which also finds instances. */
function search(): void {
  const field = document.getElementById(SEARCH_ID);
  if (field === null) panel.value = 'palette';
  else field.focus();
}

/** Button that opens the command palette. */
export function PaletteButton() {
  return (
    <button
      type="button"
      class="palette-button"
      aria-keyshortcuts="Control+K Meta+K"
      onClick={() => {
        panel.value = 'palette';
      }}
    >
      <span>Search or run …</span>
      <kbd>{isApple() ? '⌘ K' : 'Ctrl K'}</kbd>
    </button>
  );
}

const isApple = (): boolean => /Mac|iPhone|iPad/.test(navigator.userAgent);
