import { Empty, PageHead } from "../../blocks/blocks.tsx";

const Page = () => (
  <>
    <PageHead title="roles" />
    <Empty title="Being built" />
  </>
);

export default Page;
