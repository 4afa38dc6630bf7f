import { render } from 'preact';
import { keepFocus } from '#pages/shell/focus';
import { startSession } from '#pages/shell/session';
import { startTheme } from '#pages/shell/theme';
import { App } from '#view/shell/app';
import { startRouter } from '#view/shell/router';

const root = document.getElementById('root');
if (root === null) throw new Error('the document has no root');
startTheme();
startRouter();
keepFocus();
render(<App />, root);
void startSession();
