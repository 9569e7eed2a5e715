// Text with its invisible characters shown by their numbers, as in what the studio's server writes.

const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const KEPT = "\n\t\u200c\u200d\ufe0e\ufe0f"; // the last four within words and emoji: the record shows those elsewhere

const numbered = (character) => `\u27e8U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`;

// More marks on a letter cover other lines.
const STACKED = /((?:[\p{Mn}\p{Me}][\u200c\u200d]*){4})([\p{Mn}\p{Me}\u200c\u200d]+)/gu;
const MARK = /[\p{Mn}\p{Me}]/gu;

export const visible = (text) => text
  .replace(UNSEEN, (found) => (KEPT.includes(found) ? found : numbered(found)))
  .replace(STACKED, (_, kept, more) => kept + more.replace(MARK, numbered));
