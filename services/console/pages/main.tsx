import { render } from 'preact';
import { startRouter } from '#pages/router';
import { startSession } from '#pages/session';
import { App } from '#view/app';

const root = document.getElementById('root');
if (root === null) throw new Error('the document has no root');
startRouter();
render(<App />, root);
void startSession();
