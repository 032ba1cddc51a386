// What does this browser remember? Nothing, where it is told not to; the page works the same.

function quietly(use) {
  try {
    return use();
  } catch {
    return null;
  }
}

const remembering = (place) => ({
  get: (name) => quietly(() => place().getItem(name)),
  set: (name, value) => quietly(() => (value ? place().setItem(name, value) : place().removeItem(name))),
});

export const always = remembering(() => localStorage);
export const thisTab = remembering(() => sessionStorage);
