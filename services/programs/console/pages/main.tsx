import { render } from 'preact';
import { startSession } from '#pages/shell/session';
import { startTheme } from '#pages/shell/theme';
import { App } from '#view/shell/app';
import { startRouter } from '#view/shell/router';

const root = document.getElementById('root');
if (root === null) throw new Error('the document has no root');
startTheme();
startRouter();
render(<App />, root);
void startSession();
