import { render } from 'preact';
import { ClusterApp } from '#view/cluster/app';

const root = document.getElementById('root');
if (root === null) throw new Error('the document has no root');
render(<ClusterApp />, root);
