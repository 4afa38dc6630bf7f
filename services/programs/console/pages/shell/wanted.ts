import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

/** Dialogs that the command palette opens on their pages. */
type WantedDialog = 'create-key' | 'invite-member';

const wanted = signal<WantedDialog | undefined>(undefined);

/** Asks the page of a dialog to open the dialog, now or when the page appears. */
export function wantDialog(dialog: WantedDialog): void {
  wanted.value = dialog;
}

/** Calls `open` when the dialog is wanted. */
export function useWanted(dialog: WantedDialog, open: () => void): void {
  const isWanted = wanted.value === dialog;
  useEffect(() => {
    if (!isWanted) return;
    wanted.value = undefined;
    open();
  }, [isWanted]);
}
