-- SPDX-License-Identifier: MIT
--
-- Hands the pairs of a list, "id time id time …", to f. It matches word by word: a pattern for both would scan a
-- long word again from each of its bytes.
local function each(list, f)
  local id
  for word in string.gmatch(list, '%S+') do
    if id and word:find('^%d+$') then
      f(id, word)
      id = nil
    else
      id = word
    end
  end
end
