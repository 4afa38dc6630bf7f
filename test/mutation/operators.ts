import type { Node } from 'oxc-parser';
import type { Edit } from '#test/mutation/mutant';

type NodeOf<Type extends Node['type']> = Node & { readonly type: Type };
type Operator<Type extends Node['type']> = (node: NodeOf<Type>, source: string) => Edit[];

/** Replacements of operators. Operators without an entry are not replaced. */
const SWAPPED: Readonly<Record<string, readonly string[]>> = {
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '**': ['*'],
  '<<': ['>>'],
  '>>': ['<<'],
  '>>>': ['<<'],
  '&': ['|'],
  '|': ['&'],
  '^': ['&'],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '+=': ['-='],
  '-=': ['+='],
  '*=': ['/='],
  '/=': ['*='],
  '&=': ['|='],
  '|=': ['&='],
  '^=': ['&='],
  '??=': ['&&='],
  '||=': ['&&='],
  '&&=': ['||='],
  '++': ['--'],
  '--': ['++'],
};

/** Replacements of method names; '' removes the call. */
const METHODS: Readonly<Record<string, string>> = {
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  some: 'every',
  every: 'some',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  filter: '',
  slice: '',
  sort: '',
  toSorted: '',
  reverse: '',
  toReversed: '',
  trim: '',
};

const COMPARISONS = /^([<>]=?|[=!]==)$/;

/** Edits of a node itself, without its children. */
export function editsOf(node: Node, source: string): Edit[] {
  const operator = OPERATORS[node.type] as Operator<Node['type']> | undefined;
  return operator === undefined ? [] : operator(node as NodeOf<Node['type']>, source);
}

const OPERATORS: { [Type in Node['type']]?: Operator<Type> } = {
  BinaryExpression: (node, source) => {
    if (isText(node.left) || isText(node.right)) return [];
    return [...swaps(node, node, source), ...withoutLiteral(node, source)];
  },
  LogicalExpression: (node, source) => swaps(node, node, source),
  AssignmentExpression: (node, source) => (isText(node.right) ? [] : swaps(node, node, source)),
  UpdateExpression: (node, source) => {
    const [swapped = ''] = SWAPPED[node.operator] ?? [];
    const target = textOf(node.argument, source);
    return [edit('update', node, node.prefix ? swapped + target : target + swapped)];
  },
  UnaryExpression: (node, source) => {
    if (node.operator !== '!' && node.operator !== '-' && node.operator !== '~') return [];
    return [edit('unary', node, textOf(node.argument, source))];
  },
  IfStatement: (node) => conditions(node.test),
  ConditionalExpression: (node) => conditions(node.test),
  WhileStatement: (node) => never(node.test),
  ForStatement: (node) => (node.test === null ? [] : never(node.test)),
  ReturnStatement: (node) => (isPredicate(node.argument) ? conditions(node.argument) : []),
  ArrowFunctionExpression: (node) => {
    if (node.body.type === 'BlockStatement') return emptied('function', node.body);
    const body = isPredicate(node.body) ? conditions(node.body) : [];
    return [...body, edit('function', node.body, 'undefined')];
  },
  FunctionDeclaration: (node) => emptied('function', node.body),
  FunctionExpression: (node) => emptied('function', node.body),
  ForOfStatement: (node) => emptied('loop', node.body),
  ExpressionStatement: (node) => (isEffect(node.expression) ? [edit('statement', node, ';')] : []),
  Literal: (node) => {
    if (typeof node.value === 'boolean') return [edit('literal', node, `${!node.value}`)];
    // Strings with blanks are texts for people; empty strings are already empty.
    if (typeof node.value !== 'string' || !/^\S+$/.test(node.value)) return [];
    return [edit('literal', node, "''")];
  },
  TemplateLiteral: (node) => {
    const isProse = node.quasis.some(({ value }) => value.raw.includes(' '));
    return isProse ? [] : [edit('literal', node, '``')];
  },
  ArrayExpression: (node) => (node.elements.length === 0 ? [] : [edit('literal', node, '[]')]),
  ObjectExpression: (node) => (node.properties.length === 0 ? [] : [edit('literal', node, '{}')]),
  MemberExpression: (node, source) => chained(node.optional, node.object, node.property, source),
  CallExpression: (node, source) => [
    ...renamed(node, source),
    ...(node.optional ? chainedCall(node, source) : []),
  ],
};

function edit(operator: string, { start, end }: Node, replacement: string): Edit {
  return { operator, start, end, replacement };
}

function textOf({ start, end }: Node, source: string): string {
  return source.slice(start, end);
}

/** Edits that replace the operator between two operands. */
function swaps(
  node: { readonly left: Node; readonly right: Node; readonly operator: string },
  whole: Node,
  source: string,
): Edit[] {
  const { left, right, operator } = node;
  const from = source.indexOf(operator, left.end);
  const before = source.slice(whole.start, from);
  const after = source.slice(from + operator.length, whole.end);
  if (from < 0 || from > right.start) return [];
  const kind = COMPARISONS.test(operator) ? 'comparison' : 'operator';
  return (SWAPPED[operator] ?? []).map((swapped) => {
    const text = before + swapped + after;
    // `a && b ?? c` is not valid JavaScript.
    return edit(kind, whole, operator === '??' ? `(${text})` : text);
  });
}

/** Replaces `position + 1` by `position`. */
function withoutLiteral(node: NodeOf<'BinaryExpression'>, source: string): Edit[] {
  const isStep = node.operator === '+' || node.operator === '-';
  const isNumber = node.right.type === 'Literal' && typeof node.right.value === 'number';
  return isStep && isNumber ? [edit('operator', node, textOf(node.left, source))] : [];
}

function conditions(test: Node): Edit[] {
  if (test.type === 'Literal') return [];
  return [edit('condition', test, 'true'), edit('condition', test, 'false')];
}

/** Skips a loop. Endless loops are not tried, because a skipped loop fails sooner. */
function never(test: Node): Edit[] {
  return test.type === 'Literal' ? [] : [edit('condition', test, 'false')];
}

function emptied(operator: string, body: Node | null): Edit[] {
  if (body?.type !== 'BlockStatement' || body.body.length === 0) return [];
  return [edit(operator, body, '{}')];
}

function renamed(node: NodeOf<'CallExpression'>, source: string): Edit[] {
  const { callee } = node;
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return [];
  const other = METHODS[callee.property.name];
  if (other === undefined) return [];
  if (other !== '') return [edit('method', callee.property, other)];
  return [edit('method', node, textOf(callee.object, source))];
}

function chained(isOptional: boolean, object: Node, property: Node, source: string): Edit[] {
  if (!isOptional) return [];
  const from = source.indexOf('?.', object.end);
  const isComputed = source.slice(from + 2, property.start).includes('[');
  return [unchained(object, from, isComputed ? '' : '.', source)];
}

function chainedCall({ callee }: NodeOf<'CallExpression'>, source: string): Edit[] {
  return [unchained(callee, source.indexOf('?.', callee.end), '', source)];
}

/** Edit that starts at the object, because an undefined object skips the rest of the chain. */
function unchained(object: Node, from: number, dot: string, source: string): Edit {
  const replacement = source.slice(object.start, from) + dot;
  return { operator: 'chain', start: object.start, end: from + 2, replacement };
}

function isText(node: Node): boolean {
  return (
    node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string')
  );
}

/** Whether the form of an expression shows that its value is boolean. */
function isPredicate(node: Node | null): node is Node {
  if (node === null) return false;
  if (node.type === 'LogicalExpression') return node.operator !== '??' && isPredicate(node.right);
  if (node.type === 'UnaryExpression') return node.operator === '!';
  return node.type === 'BinaryExpression' && COMPARISONS.test(node.operator);
}

function isEffect(node: Node): boolean {
  if (node.type === 'AwaitExpression') return isEffect(node.argument);
  if (node.type === 'UnaryExpression') return node.operator === 'void' && isEffect(node.argument);
  if (node.type === 'AssignmentExpression') return node.operator === '=';
  return node.type === 'CallExpression' && node.callee.type !== 'Super';
}
