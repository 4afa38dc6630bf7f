import { readFileSync } from 'node:fs';
import { type Node, parseSync, visitorKeys } from 'oxc-parser';
import { type Edit, edited, type Mutant } from '#test/mutation/mutant';
import { editsOf } from '#test/mutation/operators';

/** Maximum characters per shown line. */
const SHOWN_MAX = 160;

/** Calls that are not mutated: logging and assertions. */
const LEFT_ALONE = /^(assert(\.\w+)?|(.*\.)?(log|logger|#log|#logger)(\.\w+)?\??\.\w+)$/;

/** Error classes whose messages are not mutated, because only people read them. */
const ERRORS = /^(Error|TypeError|RangeError|AggregateError)$/;

/** All mutants of a file, in source order. Throws if the file cannot be parsed. */
export function mutantsOf(file: string, source = readFileSync(file, 'utf8')): Mutant[] {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const mutants: Mutant[] = [];
  walk(program, '', (node, within) => {
    for (const edit of editsOf(node, source)) {
      const mutant = { ...edit, file, within, ...linesOf(edit, source) };
      if (!isChange(mutant, source)) continue;
      if (isNew(mutant, mutants) && isProgram(mutant, source)) mutants.push(mutant);
    }
  });
  return mutants.toSorted((one, other) => one.start - other.start || one.end - other.end);
}

/** Whether an edit changes the text. An edit can replace a text by itself, such as `undefined`. */
function isChange({ start, end, replacement }: Edit, source: string): boolean {
  return source.slice(start, end) !== replacement;
}

function isNew(mutant: Mutant, known: readonly Mutant[]): boolean {
  return !known.some(
    ({ start, end, replacement }) =>
      start === mutant.start && end === mutant.end && replacement === mutant.replacement,
  );
}

function isProgram(edit: Mutant, source: string): boolean {
  return parseSync(edit.file, edited(source, edit)).errors.length === 0;
}

function walk(node: Node, within: string, visit: (node: Node, within: string) => void): void {
  if (isLeftAlone(node)) return;
  const name = [within, nameOf(node)].filter((part) => part !== '').join('.');
  visit(node, name);
  for (const part of partsOf(node)) walk(part, name, visit);
}

function partsOf(node: Node): Node[] {
  const keys = (visitorKeys[node.type] ?? []).filter((key) => key !== 'key' && key !== 'label');
  const parts = keys.flatMap((key) => (node as unknown as Record<string, unknown>)[key]);
  return parts.filter((part): part is Node => typeof part === 'object' && part !== null);
}

function isLeftAlone(node: Node): boolean {
  if (node.type.startsWith('TS')) {
    return !['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'].includes(node.type);
  }
  if (node.type === 'NewExpression') {
    return node.callee.type === 'Identifier' && ERRORS.test(node.callee.name);
  }
  if (node.type === 'ExpressionStatement') return isLeftAlone(node.expression);
  if (node.type === 'CallExpression') return LEFT_ALONE.test(calleeOf(node.callee));
  return node.type === 'ImportDeclaration' || node.type === 'ExportAllDeclaration';
}

function calleeOf(node: Node): string {
  if (node.type === 'ThisExpression') return 'this';
  if (node.type === 'Identifier') return node.name;
  if (node.type === 'PrivateIdentifier') return `#${node.name}`;
  if (node.type === 'ChainExpression') return calleeOf(node.expression);
  if (node.type !== 'MemberExpression' || node.computed) return '?';
  return `${calleeOf(node.object)}.${calleeOf(node.property)}`;
}

/** Name of a function, class or method node; '' for other nodes. */
function nameOf(node: Node): string {
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      return node.id?.name ?? '';
    case 'MethodDefinition':
    case 'PropertyDefinition':
      return calleeOf(node.key);
    case 'Property':
      return /Function/.test(node.value.type) ? calleeOf(node.key) : '';
    case 'VariableDeclarator':
      return /Function/.test(node.init?.type ?? '') ? calleeOf(node.id as Node) : '';
    default:
      return '';
  }
}

function linesOf({ start, end, replacement }: Edit, source: string) {
  const from = source.lastIndexOf('\n', start - 1) + 1;
  const newline = source.indexOf('\n', end);
  const to = newline < 0 ? source.length : newline;
  const shown = (text: string) => {
    const flat = text.replaceAll(/\s+/g, ' ').trim();
    return flat.length > SHOWN_MAX ? `${flat.slice(0, SHOWN_MAX)}…` : flat;
  };
  return {
    line: source.slice(0, start).split('\n').length,
    was: shown(source.slice(from, to)),
    becomes: shown(source.slice(from, start) + replacement + source.slice(end, to)),
  };
}
