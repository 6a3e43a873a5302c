//===- ObjectLoader.cpp - Loader of compiled ELF objects ------------------===//
//
// The mapping has three page-aligned segments: code and jump stubs | constants and the global
// offset table | variables. Everything in the file is checked before it is used, so a damaged
// object is reported as an error.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/ObjectLoader.h"

#include "runtime/device/cpu/RuntimeSymbols.h"

#include <cstring>
#include <elf.h>
#include <limits>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace pe::cpu {

LoadedCode::~LoadedCode() {
  if (base)
    ::munmap(base, size);
}

void *LoadedCode::lookup(const std::string &symbol) const {
  const auto found = symbols.find(symbol);
  return found == symbols.end() ? nullptr : found->second;
}

namespace {

/// The size limit of an object, checked before anything is mapped.
constexpr uint64_t kMaxImage = uint64_t(1) << 30;
constexpr uint64_t kStubSize = 16;

enum Segment { Code, Constants, Variables, SegmentCount };

uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

} // namespace

class ObjectLoader {
public:
  explicit ObjectLoader(std::string_view bytes) : bytes(bytes) {}

  Expected<std::shared_ptr<LoadedCode>> load() {
    using Step = Status (ObjectLoader::*)();
    for (Step step : {&ObjectLoader::readSections, &ObjectLoader::readSymbols,
                      &ObjectLoader::layOut, &ObjectLoader::map, &ObjectLoader::resolveSymbols,
                      &ObjectLoader::relocate, &ObjectLoader::protect})
      if (Status s = (this->*step)(); !s)
        return s.takeError().within("compiled object");
    return code;
  }

private:
  struct Section {
    Elf64_Shdr header;
    std::string name;
    /// The offset in the mapping, or absent if the section is not loaded.
    std::optional<uint64_t> place;
  };
  struct Symbol {
    Elf64_Sym entry;
    std::string name;
    char *address = nullptr;
    bool hasStub = false;
    bool hasSlot = false;
  };

  /// Reads `count` structures at `offset` of the file. Returns false if they reach past its end.
  template <typename T> bool read(uint64_t offset, uint64_t count, std::vector<T> &out) const {
    if (offset > bytes.size() || count > (bytes.size() - offset) / sizeof(T))
      return false;
    out.resize(count);
    if (count)
      std::memcpy(out.data(), bytes.data() + offset, count * sizeof(T));
    return true;
  }

  /// Returns the string at `offset` of a string table, or nothing if the table is damaged.
  std::optional<std::string> text(const Elf64_Shdr &strings, uint64_t offset) const {
    if (strings.sh_type != SHT_STRTAB || strings.sh_offset > bytes.size() ||
        strings.sh_size > bytes.size() - strings.sh_offset || offset >= strings.sh_size)
      return std::nullopt;
    const std::string_view table = bytes.substr(strings.sh_offset, strings.sh_size);
    const size_t end = table.find('\0', offset);
    if (end == std::string_view::npos)
      return std::nullopt;
    return std::string(table.substr(offset, end - offset));
  }

  Status readSections();
  Status readSymbols();
  Status layOut();
  Status map();
  Status resolveSymbols();
  Status relocate();
  Status applyTable(const Section &target, const Elf64_Shdr &table);
  Status apply(const Section &target, const Elf64_Rela &relocation);
  Status protect();

  char *at(uint64_t offset) const { return static_cast<char *>(code->base) + offset; }
  uint64_t slotOf(uint32_t symbol);
  char *stubOf(uint32_t symbol);

  std::string_view bytes;
  std::vector<Section> sections;
  std::vector<Symbol> symbols;
  std::shared_ptr<LoadedCode> code;
  uint64_t segmentStart[SegmentCount + 1] = {};
  uint64_t stubs = 0; // offsets in the mapping
  uint64_t table = 0;
};

static bool isLoaded(const Elf64_Shdr &header, const std::string &name) {
  // Kernels are never unwound, so the unwind table is omitted.
  return (header.sh_flags & SHF_ALLOC) && header.sh_size > 0 && name != ".eh_frame";
}

static Segment segmentOf(const Elf64_Shdr &header) {
  if (header.sh_flags & SHF_EXECINSTR)
    return Code;
  return header.sh_flags & SHF_WRITE ? Variables : Constants;
}

Status ObjectLoader::readSections() {
  std::vector<Elf64_Ehdr> file;
  if (!read(0, 1, file) || std::memcmp(file[0].e_ident, ELFMAG, SELFMAG) != 0)
    return makeError("expected an ELF file, found other bytes");
  const Elf64_Ehdr &header = file[0];
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_type != ET_REL || header.e_machine != EM_X86_64)
    return makeError("expected a relocatable object for x86-64, found type ", header.e_type,
                     " for machine ", header.e_machine);
  std::vector<Elf64_Shdr> headers;
  if (header.e_shentsize != sizeof(Elf64_Shdr) || !read(header.e_shoff, header.e_shnum, headers) ||
      header.e_shstrndx >= headers.size())
    return makeError("expected section headers within the file; it is damaged");
  for (const Elf64_Shdr &section : headers) {
    std::optional<std::string> name = text(headers[header.e_shstrndx], section.sh_name);
    if (!name)
      return makeError("expected section names within the file; it is damaged");
    if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
        (section.sh_offset > bytes.size() || section.sh_size > bytes.size() - section.sh_offset))
      return makeError("expected section '", *name, "' within the file; it is damaged");
    if (section.sh_flags & SHF_TLS)
      return makeError("expected no thread-local variables, found section '", *name, "'");
    if (section.sh_type == SHT_INIT_ARRAY && section.sh_size > 0)
      return makeError("expected no global constructors, found section '", *name, "'");
    sections.push_back({section, *std::move(name), std::nullopt});
  }
  return Status::success();
}

Status ObjectLoader::readSymbols() {
  for (const Section &section : sections) {
    if (section.header.sh_type != SHT_SYMTAB)
      continue;
    std::vector<Elf64_Sym> entries;
    if (section.header.sh_entsize != sizeof(Elf64_Sym) ||
        section.header.sh_link >= sections.size() ||
        !read(section.header.sh_offset, section.header.sh_size / sizeof(Elf64_Sym), entries))
      return makeError("expected the symbol table within the file; it is damaged");
    const Elf64_Shdr &strings = sections[section.header.sh_link].header;
    for (const Elf64_Sym &entry : entries) {
      std::optional<std::string> name = text(strings, entry.st_name);
      if (!name)
        return makeError("expected symbol names within the file; it is damaged");
      symbols.push_back({entry, *std::move(name)});
    }
    return Status::success();
  }
  return makeError("expected a symbol table, found none");
}

Status ObjectLoader::layOut() {
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  uint64_t offset = 0;
  for (int segment = 0; segment < SegmentCount; ++segment) {
    segmentStart[segment] = offset;
    for (Section &section : sections) {
      const Elf64_Shdr &header = section.header;
      if (!isLoaded(header, section.name) || segmentOf(header) != segment)
        continue;
      const uint64_t alignment = header.sh_addralign ? header.sh_addralign : 1;
      if (alignment > page || (alignment & (alignment - 1)) || header.sh_size > kMaxImage)
        return makeError("expected sections aligned to at most ", page, " bytes and below ",
                         kMaxImage, " bytes, found '", section.name, "'");
      offset = alignTo(offset, alignment);
      section.place = offset;
      offset += header.sh_size;
      if (offset > kMaxImage)
        return makeError("expected at most ", kMaxImage, " bytes to load");
    }
    if (segment == Code) {
      stubs = offset = alignTo(offset, kStubSize);
      offset += symbols.size() * kStubSize;
    } else if (segment == Constants) {
      table = offset = alignTo(offset, 8);
      offset += symbols.size() * 8;
    }
    offset = alignTo(offset, page);
  }
  segmentStart[SegmentCount] = offset;
  return Status::success();
}

Status ObjectLoader::map() {
  const uint64_t size = segmentStart[SegmentCount];
  void *base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return makeError("cannot map ", size, " bytes: ", std::strerror(errno));
  code = std::make_shared<LoadedCode>(base, size);
  for (const Section &section : sections)
    if (section.place && section.header.sh_type != SHT_NOBITS)
      std::memcpy(at(*section.place), bytes.data() + section.header.sh_offset,
                  section.header.sh_size);
  return Status::success();
}

Status ObjectLoader::resolveSymbols() {
  for (Symbol &symbol : symbols) {
    const Elf64_Sym &entry = symbol.entry;
    const int binding = ELF64_ST_BIND(entry.st_info);
    if (entry.st_shndx == SHN_UNDEF) {
      if (symbol.name.empty())
        continue;
      symbol.address = static_cast<char *>(findRuntimeSymbol(symbol.name));
      if (!symbol.address && symbol.name != "_GLOBAL_OFFSET_TABLE_")
        return makeError("expected calls of only pe's runtime and the C library, found '",
                         symbol.name, "'");
      continue;
    }
    if (entry.st_shndx == SHN_ABS) {
      symbol.address = reinterpret_cast<char *>(entry.st_value);
      continue;
    }
    if (entry.st_shndx >= sections.size()) // also common symbols
      return makeError("symbol '", symbol.name, "': expected a section of the file, found index ",
                       entry.st_shndx);
    const Section &section = sections[entry.st_shndx];
    if (!section.place)
      continue;
    if (entry.st_value > section.header.sh_size)
      return makeError("symbol '", symbol.name, "': expected an offset within section '",
                       section.name, "'");
    symbol.address = at(*section.place + entry.st_value);
    if (binding == STB_GLOBAL || binding == STB_WEAK)
      code->symbols[symbol.name] = symbol.address;
  }
  return Status::success();
}

/// Returns the offset, in the mapping, of the symbol's entry in the global offset table.
uint64_t ObjectLoader::slotOf(uint32_t index) {
  const uint64_t slot = table + uint64_t(index) * 8;
  if (!symbols[index].hasSlot) {
    std::memcpy(at(slot), &symbols[index].address, 8);
    symbols[index].hasSlot = true;
  }
  return slot;
}

/// Returns a jump to the symbol that is within 32-bit reach of the code: jmp *0(%rip), followed by
/// the address.
char *ObjectLoader::stubOf(uint32_t index) {
  char *stub = at(stubs + uint64_t(index) * kStubSize);
  if (!symbols[index].hasStub) {
    std::memcpy(stub, "\xff\x25\0\0\0\0", 6);
    std::memcpy(stub + 6, &symbols[index].address, 8);
    symbols[index].hasStub = true;
  }
  return stub;
}

Status ObjectLoader::relocate() {
  for (const Section &section : sections) {
    if (section.header.sh_type == SHT_REL)
      return makeError("expected relocations with addends, found section '", section.name, "'");
    if (section.header.sh_type != SHT_RELA)
      continue;
    if (section.header.sh_info >= sections.size())
      return makeError("expected relocations for a section of the file; it is damaged");
    const Section &target = sections[section.header.sh_info];
    if (!target.place)
      continue;
    if (Status s = applyTable(target, section.header); !s)
      return s;
  }
  return Status::success();
}

Status ObjectLoader::applyTable(const Section &target, const Elf64_Shdr &header) {
  std::vector<Elf64_Rela> entries;
  if (header.sh_entsize != sizeof(Elf64_Rela) ||
      !read(header.sh_offset, header.sh_size / sizeof(Elf64_Rela), entries))
    return makeError("expected relocations within the file; it is damaged");
  for (const Elf64_Rela &entry : entries)
    if (Status s = apply(target, entry); !s)
      return s;
  return Status::success();
}

static bool isWide(uint32_t type) {
  switch (type) {
  case R_X86_64_64:
  case R_X86_64_PC64:
  case R_X86_64_GOT64:
  case R_X86_64_GOTOFF64:
  case R_X86_64_GOTPC64:
  case R_X86_64_PLTOFF64:
    return true;
  default:
    return false;
  }
}

/// Returns true if the value of a four-byte relocation fits.
static bool fitsIn32(uint32_t type, uint64_t value) {
  if (type == R_X86_64_32)
    return value <= std::numeric_limits<uint32_t>::max();
  const auto number = static_cast<int64_t>(value);
  return number == static_cast<int32_t>(number);
}

Status ObjectLoader::apply(const Section &target, const Elf64_Rela &relocation) {
  const uint32_t type = ELF64_R_TYPE(relocation.r_info);
  const uint32_t index = static_cast<uint32_t>(ELF64_R_SYM(relocation.r_info));
  const uint64_t width = isWide(type) ? 8 : 4;
  if (index >= symbols.size() || target.header.sh_size < width ||
      relocation.r_offset > target.header.sh_size - width)
    return makeError("expected relocations within section '", target.name, "'; it is damaged");
  const Symbol &symbol = symbols[index];
  char *place = at(*target.place + relocation.r_offset);
  const auto number = [](const void *address) { return reinterpret_cast<uint64_t>(address); };
  const uint64_t s = number(symbol.address), p = number(place), got = number(at(table));
  uint64_t value = static_cast<uint64_t>(relocation.r_addend); // arithmetic modulo 2^64
  switch (type) {
  case R_X86_64_NONE:
    return Status::success();
  case R_X86_64_64:
  case R_X86_64_32:
  case R_X86_64_32S:
    value += s;
    break;
  case R_X86_64_PC32:
  case R_X86_64_PC64:
    value += s - p;
    break;
  case R_X86_64_PLT32:
    value += (symbol.entry.st_shndx == SHN_UNDEF ? number(stubOf(index)) : s) - p;
    break;
  case R_X86_64_PLTOFF64:
    value += s - got;
    break;
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX:
    value += number(at(slotOf(index))) - p;
    break;
  case R_X86_64_GOT64:
    value += slotOf(index) - table;
    break;
  case R_X86_64_GOTOFF64:
    value += s - got;
    break;
  case R_X86_64_GOTPC32:
  case R_X86_64_GOTPC64:
    value += got - p;
    break;
  default:
    return makeError("section '", target.name, "': relocation type ", type, " of symbol '",
                     symbol.name, "' is not supported by the loader");
  }
  if (width == 4 && !fitsIn32(type, value))
    return makeError("section '", target.name, "': the address of '", symbol.name,
                     "' does not fit in 32 bits; compile position-independent code");
  std::memcpy(place, &value, width); // little-endian: copies the low bytes
  return Status::success();
}

Status ObjectLoader::protect() {
  const int rights[SegmentCount] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
  for (int segment = 0; segment < SegmentCount; ++segment) {
    const uint64_t size = segmentStart[segment + 1] - segmentStart[segment];
    if (size && ::mprotect(at(segmentStart[segment]), size, rights[segment]) != 0)
      return makeError("cannot protect the code's pages: ", std::strerror(errno));
  }
  return Status::success();
}

Expected<std::shared_ptr<LoadedCode>> loadObject(std::string_view bytes) {
  return ObjectLoader(bytes).load();
}

} // namespace pe::cpu
